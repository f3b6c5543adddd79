package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// What one person got is read by an index of its own, however many messages there are
// and whichever page it is.
func TestGuardWhatAPersonGotIsCheapHoweverManyMessagesThereAre(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	n := sized(t, 40_000, 1_000_000)
	const each = 250 // messages of a person: three pages
	hash := keys.RecipientHash(nil, "", "email", "sam@example.com")
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO outgoing_message (version, lane, abandoned, is_on_support_hold, scope, key, message_id, hold_reason, kind,
			status, claim_token, partition_key, row_key, job_partition_key, notification_type, business_unit, method, recipient_ref, recipient_hash,
			hash_key, recipient_name, address, zone, attempt_no, content, content_hash, input_hash, in_doubt, consent_group, mandatory, requested,
			calls, provider_message_id, redirected, doubts, lookups, resolution, retry_count, lease_loss_count, reason_code, copies, unless_read)
		SELECT 1, 0, false, false, 'tenant', g::text, g::text, '', 'email:smtp', 'Delivered', '', g::text, '', '', 'news', '', 'email',
			CASE WHEN g %% 2 = 0 THEN 'p' || g %% (%[1]d / %[2]d) END,
			CASE WHEN g %% (%[1]d / %[2]d) = 1 THEN '%[3]s' ELSE md5(g::text) END,
			'', '', '', '', 0, '{}', '', '', 'Hold', '', false, false, 1, '', false, 0, 0, '', 0, 0, '', 0, ''
		FROM generate_series(1, %[1]d) AS g`, n, each, hash))
	exec(t, s.DB(), "VACUUM (ANALYZE) outgoing_message")
	out := notify.New(s, nil)
	for name, who := range map[string]notify.Recipient{
		"by reference": {Ref: "p2"}, "by address": {Channel: "email:smtp", Address: "sam@example.com"},
	} {
		var p storage.Page
		for page, want := range []int{100, 100, 50} {
			var rows []notify.OutgoingMessage
			seen := r.during(t, "SELECT", func() {
				var err error
				if rows, p.After, err = out.Support().MessagesOf(t.Context(), "tenant", who, p); err != nil {
					t.Fatal(err)
				}
			})
			plan := explained(t, s.DB(), seen[0])
			if len(rows) != want || plan.buffers() > runsBuffers || plan.sequential() {
				t.Errorf("%s, page %d: %d rows, %d buffers, %v", name, page+1, len(rows), plan.buffers(), plan.scans())
			}
			t.Logf("%s, page %d: %d buffers, %v", name, page+1, plan.buffers(), plan.scans())
		}
	}
}

// What a provider's id names, and all that was planned about a person or a source, is read
// by an index of its own.
func TestGuardWhatSupportLooksUpIsCheapHoweverMuchThereIs(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	n := sized(t, 40_000, 1_000_000)
	messagesOf(t, s, n)
	exec(t, s.DB(), "UPDATE outgoing_message SET provider_message_id = 'p-' || id WHERE id % 2 = 0", "VACUUM (ANALYZE) outgoing_message")
	scheduled(t, s, n, "certificate", "NULL", "0", "g <= 500", "RetriesExhausted")
	exec(t, s.DB(), `UPDATE automation_scheduler SET scope = 'tenant', source_type = 'employee', source = (id % 500)::text, person = (id % 500)::text,
		key = 'reminder:setting-' || id % 20 || ':employee:' || id % 500 || ':default:2025-03-01:' || id,
		scheduled_on = '2025-03-01'::timestamptz + id * interval '1 second'`, "VACUUM (ANALYZE) automation_scheduler")
	out := notify.New(s, nil)
	work := automation.New(s, out, nil).Support()
	middle := time.Date(2025, 3, 1, 3, 0, 0, 0, time.UTC)
	list := func(of automation.Subject, coming bool) func(storage.Page) (int, string, error) {
		return func(p storage.Page) (int, string, error) {
			rows, next, err := work.Schedules(t.Context(), "tenant", of, middle, coming, p)
			return len(rows), next, err
		}
	}
	for name, f := range map[string]func(storage.Page) (int, string, error){
		"a person's past":   list(automation.Subject{Person: "7"}, false),
		"a person's coming": list(automation.Subject{Person: "7"}, true),
		"a source's past":   list(automation.Subject{Source: automation.Source{Type: "employee", ID: "7"}}, false),
		"a source's coming": list(automation.Subject{Source: automation.Source{Type: "employee", ID: "7"}}, true),
		"on hold": func(p storage.Page) (int, string, error) {
			rows, next, err := work.Held(t.Context(), "tenant", automation.RetriesExhausted, p)
			return len(rows), next, err
		},
		"a provider's id": func(storage.Page) (int, string, error) {
			rows, err := out.Support().MessagesByID(t.Context(), "tenant", "p-4242")
			return len(rows), "", err
		},
	} {
		p := storage.Page{Limit: 20}
		for page := range 2 {
			rows := 0
			seen := r.during(t, "SELECT", func() {
				var err error
				if rows, p.After, err = f(p); err != nil || rows == 0 {
					t.Fatal(name, rows, err)
				}
			})
			for _, statement := range seen {
				plan := explained(t, s.DB(), statement)
				if plan.buffers() > runsBuffers || plan.sequential() {
					t.Errorf("%s, page %d: %d rows, %d buffers, %v", name, page+1, rows, plan.buffers(), plan.scans())
				}
				t.Logf("%s, page %d: %d rows, %d buffers, %v", name, page+1, rows, plan.buffers(), plan.scans())
			}
			if p.After == "" {
				break
			}
		}
	}
}
