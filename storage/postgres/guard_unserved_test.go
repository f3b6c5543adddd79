package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// The sweep for what nobody serves finds what waits by the index that polls walk, and
// what it has put on hold by that of holds, beside messages that are due and served.
func TestGuardASweepForWhatNobodyServesReadsNoTable(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	messagesOf(t, s, sized(t, 40_000, 500_000))
	exec(t, s.DB(), "UPDATE outgoing_message SET status = 'Created', due_on = '2025-03-01'::timestamptz + id * interval '1 second' WHERE id <= 2000",
		"UPDATE outgoing_message SET hold_reason = 'Unserved', status = 'Created' WHERE is_on_support_hold", "VACUUM (ANALYZE) outgoing_message")
	out := notify.New(s, nil, channel.Func("email:out", func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil }))
	looked := 0
	for _, p := range out.Passes() {
		if p.Name() != "notify.unserved" {
			continue
		}
		found := r.during(t, "SELECT", func() {
			if _, err := p.Runner(work.Options{}).Poll(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		})
		for _, q := range found {
			if !strings.Contains(q.text, "outgoing_message") {
				continue
			}
			plan := explained(t, s.DB(), q)
			if looked++; plan.sequential() {
				t.Errorf("%s: %v", q.text, plan.scans())
			}
			t.Logf("%d buffers, %v", plan.buffers(), plan.scans())
		}
	}
	if looked < 3 { // lanes, what waits, what is on hold
		t.Errorf("%d statements", looked)
	}
	if n := scan[int](t, s.DB(), "SELECT count(*) FROM outgoing_message WHERE is_on_support_hold"); n != 0 {
		t.Errorf("%d are on hold still", n)
	}
}
