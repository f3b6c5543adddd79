package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify"
)

// recoveryBuffers bounds the pages that a page of a recovery touches: each row on a
// page of its own, its large columns, and the index.
const recoveryBuffers = 150

// Whoever recovers what an outage has left reads what he asks for, however many
// messages there are: of one tenant, and of all.
func TestGuardARecoveryIsCheapHoweverManyMessagesThereAre(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	messagesOf(t, s, sized(t, 40_000, 500_000))
	out := notify.New(s, nil).Support()
	by, dry := notify.By{Actor: "sam", Reason: "a guard"}, &notify.ActionOptions{DryRun: true}
	for name, f := range map[string]func(scope notify.Scope, all bool) (int, error){
		"what has failed": func(scope notify.Scope, all bool) (int, error) {
			report, err := out.RetryFailed(t.Context(), scope, notify.Failures{Channel: "email:out", Everywhere: all, Limit: 100}, by, dry)
			return len(report.Messages), err
		},
		"what is on hold": func(scope notify.Scope, all bool) (int, error) {
			report, err := out.ReleaseHeld(t.Context(), scope, notify.HeldMessages{Channel: "email:out", Everywhere: all, Limit: 100}, by, dry)
			return len(report.Messages), err
		},
	} {
		for _, everywhere := range []bool{true, false} {
			scope := notify.Scope("tenant")
			if everywhere {
				scope = ""
			}
			found := r.during(t, "SELECT", func() {
				if n, err := f(scope, everywhere); n != 100 || err != nil {
					t.Fatal(name, n, err)
				}
			})
			p := explained(t, s.DB(), found[0])
			if !strings.Contains(found[0].text, "outgoing_message") || p.sequential() || p.buffers() > recoveryBuffers {
				t.Errorf("%s, everywhere %t: %d buffers, %v", name, everywhere, p.buffers(), p.scans())
			}
			t.Logf("%s, everywhere %t: %d buffers, %v", name, everywhere, p.buffers(), p.scans())
		}
	}
}

// messagesOf loads n messages of a tenant that were sent, and behind them 500 that have
// failed and 500 on hold.
func messagesOf(t testing.TB, s *Store, n int) {
	t.Helper()
	columns := scan[string](t, s.DB(), `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = 'outgoing_message'::regclass AND attnum > 0 AND attnotnull AND attname NOT IN ('id', 'scope', 'key', 'kind', 'message_id', 'is_on_support_hold', 'hold_reason', 'recipient_hash', 'method', 'partition_key')`)
	values := scan[string](t, s.DB(), `SELECT string_agg(CASE format_type(atttypid, NULL) WHEN 'boolean' THEN 'false' WHEN 'text' THEN '''''' WHEN 'json' THEN '''{}'''
			WHEN 'timestamp with time zone' THEN '''2025-03-01''' ELSE '0' END, ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = 'outgoing_message'::regclass AND attnum > 0 AND attnotnull AND attname NOT IN ('id', 'scope', 'key', 'kind', 'message_id', 'is_on_support_hold', 'hold_reason', 'recipient_hash', 'method', 'partition_key')`)
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO outgoing_message (scope, key, kind, message_id, recipient_hash, method, partition_key, is_on_support_hold, hold_reason, failed_on, %s)
		SELECT 'tenant', g::text, 'email:out', g::text, repeat('a', 40), 'email', g::text, g > %[3]d + 500, CASE WHEN g > %[3]d + 500 THEN 'RetriesExhausted' ELSE '' END,
			CASE WHEN g > %[3]d AND g <= %[3]d + 500 THEN '2025-03-01'::timestamptz + g * interval '1 second' END, %[2]s
		FROM generate_series(1, %[3]d + 1000) AS g`, columns, values, n), "VACUUM (ANALYZE) outgoing_message")
}
