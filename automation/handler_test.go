package automation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

func export(id string) automation.Candidate {
	return automation.Candidate{AutomationType: "export", Source: automation.Source{"file", id}, ScheduledOn: start}
}

func exportKey(id string) string { return "host:export:file:" + id + ":default" }

// A host's own type: one row for each verdict that its handler can give.
func TestAHostsHandlerDecidesAboutEachRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			var out []automation.Outcome
			for _, d := range due {
				if d.TriggerType != automation.ScheduledRun || d.Type != "export" || !d.ScheduledOn.Equal(start) {
					w.t.Errorf("%+v", d)
				}
				out = append(out, map[string]automation.Outcome{
					"done":  {Result: notify.DispatchResult{Summary: "12 pages"}},
					"gone":  {Deactivate: "FileGone"},
					"fails": {Err: errBoom, Deactivate: "ignored"},
					"never": {Err: automation.Permanent(errBoom)},
					"more":  {Artifacts: automation.Artifacts{Candidates: []automation.Candidate{export("next")}}},
					"bad":   {Artifacts: automation.Artifacts{Candidates: []automation.Candidate{export("a:b")}}},
				}[d.Source.ID])
			}
			return out, nil
		})})
		for _, id := range []string{"done", "gone", "fails", "never", "more", "bad"} {
			w.ensure(export(id))
		}
		w.poll()
		want := map[string]string{
			exportKey("done"): "Completed", exportKey("gone"): "Deactivated FileGone",
			exportKey("fails"): "Pending HandlerFailed", exportKey("never"): "Failed HandlerFailed held PermanentFailure",
			exportKey("more"): "Completed", exportKey("next"): "Pending", exportKey("bad"): "Pending HandlerFailed",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		done := w.row(exportKey("done"))
		if got, _ := done.Dispatched(); got.Summary != "12 pages" {
			w.t.Errorf("%+v", got)
		}
		if bad := w.row(exportKey("bad")); !strings.Contains(bad.Diagnostics, `candidate 0 ("export")`) {
			w.t.Error(bad.Diagnostics)
		}
	})
}

// One row that a handler cannot stand fails alone.
func TestAGroupThatFailsIsAskedAgainRowByRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		var calls []int
		w.s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			calls = append(calls, len(due))
			for _, d := range due {
				switch d.Source.ID {
				case "1":
					return nil, errBoom
				case "2":
					panic("two")
				case "3":
					return nil, nil // no outcome for its row
				}
			}
			return make([]automation.Outcome, len(due)), nil
		})})
		for n := range 5 {
			w.ensure(export(fmt.Sprint(n)))
		}
		w.poll()
		want := map[string]string{
			exportKey("0"): "Completed", exportKey("4"): "Completed", exportKey("1"): "Pending HandlerFailed",
			exportKey("2"): "Pending HandlerPanicked", exportKey("3"): "Pending HandlerFailed",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" || !slices.Equal(calls, []int{5, 1, 1, 1, 1, 1}) {
			w.t.Error(diff, calls)
		}
		if row := w.row(exportKey("3")); row.Diagnostics != "automation: the handler of export gave 0 outcomes for 1 rows" {
			w.t.Error(row.Diagnostics)
		}
	})
}

// All kinds of artifacts, in one handler.
func TestAHandlersArtifactsAreEnsuredWithItsRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		job := notify.Job{Type: "report", PartitionKey: "f", RowKey: "j"}
		w.s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			return []automation.Outcome{{Artifacts: automation.Artifacts{
				AutomationJobs: []notify.AutomationJob{{Type: "export", PartitionKey: "f", RowKey: "j", SchedulerKey: due[0].Key}},
				Jobs:           []notify.Job{job},
				Schedules:      []notify.Schedule{notify.ScheduleFor(job, start)},
			}}}, nil
		})})
		w.ensure(export("1"))
		w.poll()
		if diff := cmp.Diff(map[string]string{exportKey("1"): "Completed"}, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		again, err := w.out.Notifier.EnsureNotificationScheduler(w.ctx, nil, notify.ScheduleFor(job, start))
		if err != nil || again[0].Outcome != storage.Unchanged {
			w.t.Errorf("%+v %v", again, err)
		}
	})
}

// Messages whose keys only their Ensure knows are named by the row all the same.
func TestARowNamesTheMessagesThatWereMadeForIt(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			return []automation.Outcome{{Artifacts: automation.Artifacts{
				UserMessages: []notify.UserMessage{{Type: "export", PartitionKey: "user:7", JobPartitionKey: "f", JobRowKey: "j", SourceOn: start, Content: notify.Content{Subject: "s"}}},
				OutgoingMessages: []notify.OutgoingMessage{{
					Channel: "email:print", PartitionKey: "f", JobPartitionKey: "f", NotificationType: "export", Method: "email",
					Address: "sam@example.com", Content: notify.Content{Subject: "s", Text: "t"},
				}},
			}}}, nil
		})})
		w.ensure(export("1"))
		w.poll()
		row := w.row(exportKey("1"))
		d, err := row.Dispatched()
		if err != nil || row.Status != automation.StatusCompleted || len(d.UserMessages) != 1 || len(d.OutgoingMessages) != 1 {
			w.t.Fatalf("%s %+v %v", row.Status, d, err)
		}
		inbox, _, err := w.out.Notifier.Inbox("", "user:7").Messages(w.ctx, storage.Page{})
		if err != nil || len(inbox) != 1 || d.UserMessages[0] != (notify.Coordinates{PartitionKey: "user:7", RowKey: inbox[0].RowKey}) {
			w.t.Errorf("%+v %+v %v", d.UserMessages, inbox, err)
		}
		traced, err := w.out.Notifier.Trace(w.ctx, "", d.OutgoingMessages[0])
		if err != nil || d.OutgoingMessages[0].PartitionKey != "f" || d.OutgoingMessages[0].RowKey == "" {
			w.t.Errorf("%+v %+v %v", d.OutgoingMessages, traced, err)
		}
	})
}

func TestAHostsRowMovesInPlace(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.ensure(export("1"))
		c := export("1")
		c.ScheduledOn = day(2026, 7, 1, 0)
		if got := w.ensure(c)[0]; got.Outcome != storage.Updated || !got.ScheduledOn.Equal(c.ScheduledOn) {
			w.t.Errorf("%+v", got)
		}
	})
}

// Somebody has made the job of an immediate notification for something else, and
// no schedule: the event must not send that, while its other one goes out.
func TestI3_AConflictingImmediateNotificationGetsNoSchedule(t *testing.T) {
	eachWorld(t, func(w *world) {
		ask := []automation.Immediate{{Type: "taken", BusinessUnit: "north"}, {Type: "free", BusinessUnit: "north"}}
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Immediate = immediates(func(automation.Event) []automation.Immediate { return ask })
		}))
		e := automation.Event{ID: "e1", Type: "certificate-lost", Source: automation.Source{"employee", "7"}}
		theirs, err := automation.ImmediateJob(automation.Immediate{Type: "taken", BusinessUnit: "south"}, e)
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.out.Notifier.EnsureNotificationJob(w.ctx, nil, theirs); err != nil {
			w.t.Fatal(err)
		}

		got, err := w.s.HandleEvent(w.ctx, e)
		if conflict := (*notify.ConflictError)(nil); !errors.As(err, &conflict) || got.Outcome != automation.EventApplied {
			w.t.Fatalf("%+v, %v", got, err)
		}
		outcomes := []storage.Outcome{got.Immediate[0].Outcome, got.Immediate[1].Outcome}
		if diff := cmp.Diff([]storage.Outcome{storage.Conflict, storage.Created}, outcomes); diff != "" {
			w.t.Error(diff)
		}
		var scheduled []string
		for _, s := range w.out.schedules {
			scheduled = append(scheduled, s.ArtifactRowKey)
		}
		if diff := cmp.Diff([]string{"event:employee:7:certificate-lost:e1:free"}, scheduled); diff != "" {
			w.t.Error(diff)
		}
	})
}
