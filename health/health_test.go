package health_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/health"
)

func at(hour int) time.Time { return time.Date(2026, 4, 1, hour, 0, 0, 0, time.UTC) }

func TestHealthIsToldToPeople(t *testing.T) {
	t.Parallel()
	h := health.Summary{
		On: at(12), Scope: "north", DueCapped: true,
		Due: []health.Due{
			{Table: "automation_scheduler", Kind: "certificate", Rows: 998, Capped: true, Abandoned: 3, Held: 1, Served: true, OldestOn: at(9)},
			{Table: "outgoing_message", Kind: "sms", Lane: -1, Rows: 1, OldestOn: at(10)},
			{Table: "survey_instance", Rows: 2, OldestOn: at(11), Served: true},
		},
		Holds:       []health.Count{{Table: "automation_scheduler", Reason: "InputConflict", Rows: 2}, {Table: "outgoing_message", Reason: "RetriesExhausted", Rows: 10000, Capped: true}},
		Doubts:      []health.Count{{Table: "outgoing_message", Kind: "sms", Rows: 3}},
		DeadLetters: []health.Count{{Table: "outbox_delivery", Kind: "survey/crm", Rows: 4}},
		Pauses: []health.Pause{
			{Table: "notification_pause", Everywhere: true, Since: at(8)},
			{Table: "notification_pause", Scope: "north", Kind: "sms", Since: at(9)},
		},
		Outages: []health.Outage{
			{Everywhere: true, Channel: "email:smtp", Class: "Transient", Since: at(5)},
			{Scope: "north", Channel: "sms:twilio", Class: "Permanent", Code: "401", Since: at(6)},
		},
		Lost:        []health.Lost{{Scope: "north", Key: "daily", Kind: "digest", Since: at(7)}},
		Skipped:     []health.Skipped{{Scope: "north", Kind: "certificate", Sources: 2, Since: at(7)}},
		Stuck:       []health.Stuck{{Pass: "automation", Kind: "certificate", Rows: 5, Since: at(6)}},
		LeaseLosses: 4,
	}
	want := `work at 2026-04-01T12:00:00Z of "north"
  the oldest has waited for 3h0m0s
  due, certificate of automation_scheduler: 998 or more, 3 of them left by a worker that is gone, and 1 with a worker
  due, sms of outgoing_message in lane -1: 1; not served by this process
  due, survey_instance: 2
  on hold, InputConflict of automation_scheduler: 2
  on hold, RetriesExhausted of outgoing_message: 10000 or more
  in doubt, sms of outgoing_message: 3
  dead letters, survey/crm: 4
  paused since 2026-04-01T08:00:00Z: everything
  paused since 2026-04-01T09:00:00Z: sms of "north"
  out since 2026-04-01T05:00:00Z: email:smtp, Transient
  out since 2026-04-01T06:00:00Z: sms:twilio of "north", Permanent 401
  a series has no row since 2026-04-01T07:00:00Z: daily
  cannot be planned since 2026-04-01T07:00:00Z: 2 sources of certificate
  stuck in a call since 2026-04-01T06:00:00Z: 5 of certificate in automation
  reminders taken over from workers that died or stalled, by this process: 4`
	if diff := cmp.Diff(want, h.String()); diff != "" {
		t.Error(diff)
	}
	h = health.Summary{On: at(12), Everywhere: true}
	want = `work at 2026-04-01T12:00:00Z of all tenants
  nothing waits for a worker
  nothing waits for a person
  reminders taken over from workers that died or stalled, by this process: 0`
	if diff := cmp.Diff(want, h.String()); diff != "" {
		t.Error(diff)
	}
	h.DueCapped = true
	if !strings.Contains(h.String(), "workers have all that was due first") {
		t.Error(h)
	}
}
