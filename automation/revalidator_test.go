package automation_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

func TestARowThatCannotBeReadIsHeldAtOnceAndBlocksNoOther(t *testing.T) {
	for column, spoil := range map[string]func(*automation.Schedule){
		"time_zone":            func(r *automation.Schedule) { r.TimeZone = "Mars/Olympus" },
		"scheduled_local_date": func(r *automation.Schedule) { r.LocalDate = "2026-02-30" },
		"dispatch_result":      func(r *automation.Schedule) { r.DispatchResult = []byte(`{"path":7}`) },
	} {
		t.Run(column, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(nil))
				w.ensure(candidate(nil), candidate(func(c *automation.Candidate) { c.Source.ID = "8" }))
				w.change(certificateKey, spoil)
				w.pollAt(day(2026, 4, 1, 9))
				want := map[string]string{
					certificateKey: "Failed Undecodable held Undecodable",
					"reminder:certificate:employee:8:default:2026-05-01:30": "Completed",
				}
				if diff := cmp.Diff(want, w.statuses()); diff != "" {
					w.t.Error(diff)
				}
				if row := w.row(certificateKey); !strings.Contains(row.HoldDetail, column) {
					w.t.Error(row.HoldDetail)
				}
			})
		})
	}
}

//spec:a-097
func TestAMessageThatWaitedIsRevalidated(t *testing.T) {
	eachWorld(t, func(w *world) {
		valid, err := true, error(nil)
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) { return validIf(valid), err })
			t.NotificationType = "the host's" // it asks in the same way
		}))
		w.ensure(candidate(nil), candidate(func(c *automation.Candidate) { c.Source.ID = "8" }))
		w.pollAt(day(2026, 4, 1, 9))
		ask := func() []notify.Verdict {
			got, askErr := w.s.Revalidator().Revalidate(w.ctx, append(w.out.jobs, notify.Job{SourceKey: "unknown"}, notify.Job{}))
			if !errors.Is(askErr, err) {
				w.t.Error(askErr)
			}
			return got
		}
		if diff := cmp.Diff(make([]notify.Verdict, 4), ask()); diff != "" {
			w.t.Error(diff)
		}
		valid = false
		skip := notify.Skip(string(automation.SourceNoLongerValid))
		if diff := cmp.Diff([]notify.Verdict{skip, skip, {}, {}}, ask()); diff != "" {
			w.t.Error(diff)
		}
		err = errBoom
		if got := ask(); got != nil {
			w.t.Error(got)
		}
	})
}
