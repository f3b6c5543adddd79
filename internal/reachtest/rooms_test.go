package reachtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/notify/templates"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/survey"
)

// world is a program with one tenant, the north, that has a row of everything.
type world struct {
	*testing.T
	store    storage.Store
	work     *automation.Scheduler
	out      *notify.Notifier
	reports  *report.Service
	surveys  *survey.Service
	settings *settings.Settings

	reminder, instance string // keys
}

const visits = `{
	"questions": [{"id": "rate", "type": "rating"}],
	"triggers": [{"id": "visits", "enabled": true, "eventKind": "visit-closed", "dedupRecipe": ["templateId", "recipient.address"],
		"schedule": {"initialDelay": "0d"}, "channel": "email:test"}]
}`

var (
	by       = automation.By{Actor: "ann", Reason: "a call"}
	employee = automation.Source{Type: "employee", ID: "7"}
	sam      = notify.Destination{Method: "email", Address: "sam@example.com"}
	lately   = notify.Made{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)}
)

func newWorld(t *testing.T) *world {
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	w := &world{T: t, store: memory.New(&memory.Options{Clock: clk})}
	channel := channel.Func("email:test", func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil })
	w.out = notify.New(w.store, nil, channel)
	w.out.Register(notify.Type{Name: "visit", Renderer: notify.Template{Subject: "A visit"}})
	w.work = automation.New(w.store, w.out, nil)
	w.work.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "It expires"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }),
		Scan: &automation.Scan{SourceType: "employee", Window: 30, Scopes: []automation.Scope{"north"}, Read: func(context.Context, automation.ScanRequest) (automation.ScanPage, error) {
			return automation.ScanPage{}, nil
		}},
		Triggers: none{},
	})
	w.reports = report.New(w.store, w.work, w.out, nil)
	w.reports.Register(report.Type{Name: "sales", Template: notify.Template{Subject: "Sales"}, Builder: report.BuilderFunc(
		func(context.Context, report.Run) (report.Report, error) { return report.Report{}, nil })})
	w.surveys = survey.New(w.store, w.out, &survey.Options{SurveyURL: "https://host.example/s/{token}"})
	w.surveys.Subscribe(survey.SubscriberFunc("bi", func(context.Context, survey.ResponseCompleted) error { return nil }))
	w.settings = settings.New(w.store, nil)
	w.fill()
	return w
}

// none asks for nothing.
type none struct{}

func (none) EventTypes() []string { return []string{"changed"} }

func (none) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return make([]automation.Answer, len(of)), nil
}

func (w *world) fill() {
	ctx := w.Context()
	ensured, err := w.work.Ensure(ctx, candidate("north"))
	w.must(err)
	w.reminder = ensured[0].Key
	_, err = w.out.Notify(ctx, job("north"))
	w.must(err)
	_, err = w.out.EnsureOutgoingMessage(ctx, nil, message("north"))
	w.must(err)
	w.must(w.out.Contacts().Suppress(ctx, "north", channel.Complaint, by, sam))
	_, err = w.surveys.Publish(ctx, version("north"))
	w.must(err)
	got, err := w.surveys.Ingest(ctx, batch("north"))
	w.must(err)
	w.instance = got.Items[0].Instances[0].PublicID
	_, err = w.reports.Create(ctx, subscription("north"))
	w.must(err)
	_, err = w.settings.SaveReminder(ctx, expiry("north"))
	w.must(err)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func candidate(scope storage.Scope) automation.Candidate {
	return automation.Candidate{Scope: scope, Type: "certificate", Source: employee, TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30}
}

func job(scope storage.Scope) notify.Job {
	return notify.Job{
		Scope: scope, Type: "visit", PartitionKey: "customer-17", RowKey: keys.AutomationRowKey("visit"),
		EventData: json.RawMessage(`{}`), Recipients: []notify.Recipient{{Ref: "17", Channel: "email:test", Address: "sam@example.com", Inbox: "user:sam"}},
	}
}

// ofReminder is the job that the reminder would lead to.
func (w *world) ofReminder(scope storage.Scope) notify.Job {
	j := job(scope)
	j.SourceKey = w.reminder
	return j
}

func message(scope storage.Scope) notify.OutgoingMessage {
	return notify.OutgoingMessage{
		Scope: scope, Channel: "email:test", PartitionKey: "visit-1", RowKey: "1", NotificationType: "visit",
		Method: "email", Address: "sam@example.com", Content: notify.Content{Subject: "A visit"},
	}
}

func version(scope storage.Scope) survey.Version {
	return survey.Version{Scope: scope, SurveyID: 1, Name: "Visits", Definition: json.RawMessage(visits)}
}

func batch(scope storage.Scope) survey.Batch {
	return survey.Batch{Scope: scope, EventKind: "visit-closed", Items: []survey.Item{{
		Payload: json.RawMessage("{}"), Recipient: survey.Recipient{Address: "sam@example.com", CustomerRef: "17"},
	}}}
}

func subscription(scope storage.Scope) report.Subscription {
	return report.Subscription{
		Scope: scope, GUID: "weekly", Type: "sales", Name: "Sales", Zone: "UTC", Cadence: automation.Recurrence{Cron: "0 9 * * *"},
		Recipients: []notify.Recipient{{Ref: "17", Channel: "email:test", Address: "sam@example.com"}},
	}
}

func expiry(scope storage.Scope) settings.ReminderSetting {
	return settings.ReminderSetting{Scope: scope, ID: "expiry", Type: "certificate", Active: true, Offsets: []int{30}}
}

func schemas() []*driver.Schema {
	var all []*driver.Schema
	for _, some := range [][]*driver.Schema{
		automation.Schemas(), report.Schemas(), settings.Schemas(), notify.Schemas(), gate.Schemas(), templates.Schemas(), survey.Schemas(), outbox.Schemas(),
	} {
		all = append(all, some...)
	}
	return all
}

// read copies what the rows hold, the parts of a row that are not stored left out.
func read(ctx context.Context, tx storage.Tx, s *driver.Schema) ([]any, error) {
	rows, err := tx.Select(ctx, s, driver.Everywhere(), driver.Query{Limit: 1000})
	var out []any
	for _, r := range rows {
		for i := range s.Columns {
			v, err := s.Columns[i].Value(r)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
	}
	return out, err
}

func second[A any](_ A, err error) error { return err }

func third[A, B any](_ A, _ B, err error) error { return err }

// rooms are the methods that take a scope, called with that one and what else
// finds the rows of the north.
func (w *world) rooms(ctx context.Context, scope storage.Scope) []room {
	rooms := append(append(w.automation(ctx, scope), w.notify(ctx, scope)...), w.survey(ctx, scope)...)
	return append(rooms, w.desk(ctx, scope))
}

func (w *world) desk(ctx context.Context, scope storage.Scope) room {
	d := support.New(support.Options{Store: w.store, Automation: w.work, Notify: w.out, Survey: w.surveys})
	held := support.Need{Table: "automation_scheduler", Reason: string(reasons.HeldBySupport)}
	return room{d, map[string]func() error{
		"Act": func() error {
			return second(d.Act(ctx, scope, support.Order{Action: support.Cancel, Targets: []support.Target{{Kind: support.KindReminder, Key: w.reminder}}, By: by}))
		},
		"Health":   func() error { return second(d.Health(ctx, storage.Within(scope))) },
		"Calendar": func() error { return third(d.Calendar(ctx, scope, time.UTC, 14)) },
		"Upcoming": func() error { return third(d.Upcoming(ctx, scope, lately.From, lately.Until, false, storage.Page{})) },
		"Withheld": func() error {
			return third(d.Withheld(ctx, scope, automation.PlannedFor{From: lately.From, Until: lately.Until}, false, storage.Page{}))
		},
		"List":          func() error { return third(d.List(ctx, scope, support.Messages, storage.Page{})) },
		"Search":        func() error { return third(d.Search(ctx, scope, "17", false)) },
		"Story":         func() error { return second(d.Story(ctx, scope, support.About{Person: "17"}, storage.Page{})) },
		"Unhappy":       func() error { return third(d.Unhappy(ctx, scope, survey.WorklistQuery{})) },
		"Verdict":       func() error { return second(d.Verdict(ctx, scope, "17", "visit")) },
		"Messages":      func() error { return third(d.Messages(ctx, scope, lately, storage.Page{})) },
		"CountMessages": func() error { return third(d.CountMessages(ctx, scope, lately)) },
		"Doubts":        func() error { return third(d.Doubts(ctx, scope)) },
		"Rows": func() error {
			return second(d.Rows(ctx, scope, support.Target{Kind: support.KindReminder, Key: w.reminder}))
		},
		"LastActions": func() error { return second(d.LastActions(ctx, scope)) },
		"LastReasons": func() error { return second(d.LastReasons(ctx, scope)) },
		"Waiting":     func() error { return third(d.Waiting(ctx, scope, held, storage.Page{})) },
	}}
}

func (w *world) automation(ctx context.Context, scope storage.Scope) []room {
	s, support, rollout, upkeep := w.work, w.work.Support(), w.work.Rollout(), w.work.Maintenance()
	part := cutover.Part{Scope: scope, Type: "certificate"}
	window := cutover.Window{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)}
	return []room{
		{s, map[string]func() error{
			"Deactivate":     func() error { return second(s.Deactivate(ctx, scope, "certificate", employee, "Gone")) },
			"Ensure":         func() error { return second(s.Ensure(ctx, candidate(scope))) },
			"Explain":        func() error { return second(s.Explain(ctx, scope, w.reminder)) },
			"ExplainMissing": func() error { return second(s.ExplainMissing(ctx, scope, "certificate", employee)) },
			"HandleEvent": func() error {
				return second(s.HandleEvent(ctx, automation.Event{Scope: scope, ID: "1", Type: "changed", Source: employee, Version: 1}))
			},
			"Health":         func() error { return second(s.Health(ctx, storage.Within(scope))) },
			"KeepReports":    func() error { return s.KeepReports(ctx, scope) },
			"Preview":        func() error { return second(s.Preview(ctx, candidate(scope), 1)) },
			"PreviewSource":  func() error { return second(s.PreviewSource(ctx, scope, "certificate", employee)) },
			"RefreshReports": func() error { return second(s.RefreshReports(ctx, scope, storage.Page{})) },
		}},
		{s.Type("certificate"), map[string]func() error{
			"For": func() error {
				return second(s.Type("certificate").For(scope).Clear(ctx, automation.About{ID: employee.ID, SourceType: employee.Type}))
			},
			"Set": func() error {
				return second(s.Type("certificate").For(scope).Set(ctx, automation.About{ID: employee.ID, SourceType: employee.Type}, candidate(scope)))
			},
		}},
		{support, map[string]func() error{
			"Bulk": func() error {
				return second(support.Bulk(ctx, scope, automation.ActionCancel, automation.Selection{Setting: "certificate"}, by, nil))
			},
			"Cancel":   func() error { return support.Cancel(ctx, scope, w.reminder, by) },
			"History":  func() error { return third(support.History(ctx, scope, employee, storage.Page{})) },
			"Coming":   func() error { return third(support.Coming(ctx, scope, time.Time{}, time.Time{})) },
			"Held":     func() error { return third(support.Held(ctx, scope, reasons.HeldBySupport, storage.Page{})) },
			"Hold":     func() error { return support.Hold(ctx, scope, w.reminder, by) },
			"Pause":    func() error { return support.Pause(ctx, automation.Extent{Scope: scope}, time.Time{}, by) },
			"Pauses":   func() error { return second(support.Pauses(ctx, scope)) },
			"Planned":  func() error { return third(support.Planned(ctx, scope, "ada", storage.Page{})) },
			"Upcoming": func() error { return third(support.Upcoming(ctx, scope, window.From, window.Until, storage.Page{})) },
			"Withheld": func() error {
				return third(support.Withheld(ctx, scope, automation.PlannedFor{From: window.From, Until: window.Until}, storage.Page{}))
			},
			"Release":        func() error { return support.Release(ctx, scope, w.reminder, by) },
			"AllSchedules":   func() error { return third(support.AllSchedules(ctx, scope, storage.Page{})) },
			"SchedulesByKey": func() error { return second(support.SchedulesByKey(ctx, scope, w.reminder)) },
			"ReportRuns":     func() error { return third(support.ReportRuns(ctx, scope, automation.ReportRuns{})) },
			"Replan":         func() error { return support.Replan(ctx, automation.Replan{Scope: scope, Type: "certificate"}, by) },
			"Rerun":          func() error { return second(support.Rerun(ctx, scope, w.reminder, by)) },
			"Resume":         func() error { return support.Resume(ctx, automation.Extent{Scope: scope}, by) },
			"Retry":          func() error { return support.Retry(ctx, scope, w.reminder, by) },
			"RunReport": func() error {
				return second(support.RunReport(ctx, automation.Candidate{
					Scope: scope, AutomationType: automation.TypeReportSubscription, Type: "sales", Run: "r-1",
					Source: automation.Source{Type: automation.TypeReportSubscription, ID: "weekly"}, Zone: "UTC",
				}, by))
			},
			"Schedules": func() error {
				return third(support.Schedules(ctx, scope, automation.Subject{Source: employee}, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), true, storage.Page{}))
			},
			"Trace": func() error { return second(support.Trace(ctx, scope, w.reminder)) },
		}},
		{rollout, map[string]func() error{
			"Compare": func() error { return second(rollout.Compare(ctx, part, window, time.Minute)) },
			"DeliverForOldScheduler": func() error {
				return second(rollout.DeliverForOldScheduler(ctx, scope, cutover.OldRun{Key: w.reminder}))
			},
			"MoveRollout":        func() error { return second(rollout.MoveRollout(ctx, part, cutover.StageShadow, by, nil)) },
			"Ownership":          func() error { return second(rollout.Ownership(ctx, scope, w.reminder)) },
			"OwnershipConflicts": func() error { return third(rollout.OwnershipConflicts(ctx, scope, storage.Page{})) },
			"ReportOldRun":       func() error { return second(rollout.ReportOldRun(ctx, part, cutover.OldRun{Key: w.reminder})) },
			"Rollouts":           func() error { return second(rollout.Rollouts(ctx, scope)) },
			"TransferOwnership":  func() error { return rollout.TransferOwnership(ctx, scope, w.reminder, cutover.OldScheduler, by) },
		}},
		{upkeep, map[string]func() error{
			"PreviewReplan": func() error {
				return second(upkeep.PreviewReplan(ctx, automation.Replan{Scope: scope, Type: "certificate"}))
			},
			"Reconcile":       func() error { return second(upkeep.Reconcile(ctx, scope, "certificate", nil)) },
			"Replan":          func() error { return upkeep.Replan(ctx, automation.Replan{Scope: scope, Type: "certificate"}) },
			"Replans":         func() error { return second(upkeep.Replans(ctx, scope)) },
			"Reconciliations": func() error { return second(upkeep.Reconciliations(ctx, scope)) },
		}},
		{s.Revalidator(), map[string]func() error{
			"Revalidate": func() error { return second(s.Revalidator().Revalidate(ctx, []notify.Job{w.ofReminder(scope)})) },
		}},
		w.ofReports(ctx, scope), w.ofSettings(ctx, scope),
	}
}

func (w *world) ofReports(ctx context.Context, scope storage.Scope) room {
	s, run := w.reports, "report-subscription:weekly:scheduled:2026-03-01T09:00:00Z"
	return room{s, map[string]func() error{
		"Create":        func() error { return second(s.Create(ctx, subscription(scope))) },
		"Deactivate":    func() error { return s.Deactivate(ctx, scope, "weekly", by) },
		"Delete":        func() error { return s.Delete(ctx, scope, "weekly", by) },
		"FailedRuns":    func() error { return third(s.FailedRuns(ctx, scope, storage.Page{})) },
		"Messages":      func() error { return third(s.Messages(ctx, scope, run, storage.Page{})) },
		"OpenFile":      func() error { return third(s.OpenFile(ctx, scope, run, "sales.csv")) },
		"Ownership":     func() error { return second(s.Ownership(ctx, scope, run)) },
		"Pause":         func() error { return s.Pause(ctx, scope, "weekly", by) },
		"Preview":       func() error { return second(s.Preview(ctx, subscription(scope), 1)) },
		"RecentRuns":    func() error { return third(s.RecentRuns(ctx, scope, storage.Page{})) },
		"Refresh":       func() error { return second(s.Refresh(ctx, scope, storage.Page{})) },
		"Resume":        func() error { return s.Resume(ctx, scope, "weekly", by) },
		"Run":           func() error { return second(s.Run(ctx, scope, run)) },
		"RunNow":        func() error { return second(s.RunNow(ctx, scope, "weekly", "", by)) },
		"Runs":          func() error { return third(s.Runs(ctx, scope, "weekly", storage.Page{})) },
		"Subscription":  func() error { return second(s.Subscription(ctx, scope, "weekly")) },
		"Subscriptions": func() error { return third(s.Subscriptions(ctx, scope, storage.Page{})) },
		"Validate":      func() error { return s.Validate(ctx, subscription(scope)) },
		"Update": func() error {
			sub := subscription(scope)
			sub.Version = 1
			return second(s.Update(ctx, sub))
		},
	}}
}

func (w *world) ofSettings(ctx context.Context, scope storage.Scope) room {
	s := w.settings
	return room{s, map[string]func() error{
		"BusinessDay": func() error {
			return second(s.BusinessDay(ctx, scope, "office", automation.Date{Year: 2026, Month: 5, Day: 1}))
		},
		"BusinessUnit":       func() error { return second(s.BusinessUnit(ctx, scope, "office")) },
		"BusinessUnits":      func() error { return third(s.BusinessUnits(ctx, scope, storage.Page{})) },
		"DeactivateReminder": func() error { return s.DeactivateReminder(ctx, scope, "expiry") },
		"Notification":       func() error { return second(s.Notification(ctx, scope, "visit", "")) },
		"Notifications":      func() error { return third(s.Notifications(ctx, scope, "visit", storage.Page{})) },
		"NotificationsFor":   func() error { return second(s.NotificationsFor(ctx, scope, "", "visit")) },
		"Reminder":           func() error { return second(s.Reminder(ctx, scope, "expiry")) },
		"Reminders":          func() error { return third(s.Reminders(ctx, scope, "", storage.Page{})) },
		"SaveBusinessUnit": func() error {
			return second(s.SaveBusinessUnit(ctx, settings.BusinessUnit{Scope: scope, ID: "office", Zone: "UTC"}))
		},
		"SaveNotification": func() error {
			return second(s.SaveNotification(ctx, settings.NotificationSetting{Scope: scope, Type: "visit", Enabled: true}))
		},
		"SaveReminder": func() error { return second(s.SaveReminder(ctx, expiry(scope))) },
		"Setting":      func() error { return second(s.Setting(ctx, scope, "expiry")) },
		"Settings":     func() error { return second(s.Settings(ctx, scope, []string{"expiry"})) },
		"Zone":         func() error { return second(s.Zone(ctx, scope, "office")) },
	}}
}

func (w *world) notify(ctx context.Context, scope storage.Scope) []room {
	n, support, campaigns, contacts, table := w.out, w.out.Support(), w.out.Campaigns(), w.out.Contacts(), templates.NewTable(w.store)
	said := templates.Set{Default: "en", Locales: map[string]notify.Template{"en": {Subject: "Visit"}}}
	campaign := notify.MessagingJob{Scope: scope, Type: "visit", GUID: "spring"}
	j, m := job(scope), message(scope)
	key, err := keys.Join(m.PartitionKey, m.RowKey)
	w.must(err)
	return []room{
		{n, map[string]func() error{
			"AddRecipients":  func() error { return second(n.AddRecipients(ctx, nil, scope, j.Coordinates(), by, j.Recipients...)) },
			"AutomationJobs": func() error { return third(n.AutomationJobs(ctx, nil, scope, "employee", "7", storage.Page{})) },
			"JobResult":      func() error { return second(n.JobResult(ctx, nil, scope, j.Coordinates())) },
			"Digests":        func() error { return second(n.Digests(ctx, nil, scope, j.Coordinates())) },
			"DryRun":         func() error { return second(n.DryRun(ctx, m)) },
			"EnsureAutomationJob": func() error {
				return second(n.EnsureAutomationJob(ctx, nil, notify.AutomationJob{Scope: scope, Type: "certificate", PartitionKey: "a", RowKey: "b"}))
			},
			"EnsureMessagingJob":    func() error { return second(n.EnsureMessagingJob(ctx, nil, campaign)) },
			"EnsureNotificationJob": func() error { return second(n.EnsureNotificationJob(ctx, nil, j)) },
			"EnsureNotificationScheduler": func() error {
				return second(n.EnsureNotificationScheduler(ctx, nil, notify.Schedule{
					Scope: scope, Type: "visit", ArtifactType: notify.ArtifactNotificationJob, ArtifactPartitionKey: j.PartitionKey, ArtifactRowKey: j.RowKey,
				}))
			},
			"EnsureOutgoingMessage": func() error { return second(n.EnsureOutgoingMessage(ctx, nil, m)) },
			"EnsureUserMessage": func() error {
				return second(n.EnsureUserMessage(ctx, nil, notify.UserMessage{Scope: scope, Type: "visit", PartitionKey: "user:sam", RowKey: "1", SourceOn: time.Unix(1, 0)}))
			},
			"Health": func() error { return second(n.Health(ctx, storage.Within(scope))) },
			"Inbox": func() error {
				in := n.Inbox(scope, "user:sam")
				return each(third(in.Messages(ctx, storage.Page{})), third(in.Archived(ctx, storage.Page{})), third(in.Snoozed(ctx, storage.Page{})), second(in.Count(ctx)),
					second(in.Mark(ctx, notify.MarkRead, "1")), second(in.MarkUpTo(ctx, notify.MarkRead, "1")))
			},
			"Notify":   func() error { return second(n.Notify(ctx, j)) },
			"NotifyAt": func() error { return second(n.NotifyAt(ctx, j, time.Time{})) },
			"Preview":  func() error { return second(n.Preview(ctx, j, j.Recipients[0])) },
			"Receive": func() error {
				return second(n.Receive(ctx, scope, silent{}, channel.WebhookRequest{}))
			},
			"Trace": func() error { return second(n.Trace(ctx, scope, j.Coordinates())) },
		}},
		{support, map[string]func() error{
			"Coming":        func() error { return third(support.Coming(ctx, scope, time.Time{}, time.Time{})) },
			"AllMessages":   func() error { return third(support.AllMessages(ctx, scope, storage.Page{})) },
			"Cancel":        func() error { return support.Cancel(ctx, scope, notify.ArtifactOutgoingMessage, key, by) },
			"Conflicts":     func() error { return third(support.Conflicts(ctx, scope, storage.Page{})) },
			"DeadLetters":   func() error { return third(support.DeadLetters(ctx, scope, "crm", storage.Page{})) },
			"DeliveryFacts": func() error { return second(support.DeliveryFacts(ctx, scope, "m-1")) },
			"Held":          func() error { return third(support.Held(ctx, scope, "", storage.Page{})) },
			"HeldCampaigns": func() error { return third(support.HeldCampaigns(ctx, scope, "", storage.Page{})) },
			"HeldJobs":      func() error { return third(support.HeldJobs(ctx, scope, "", storage.Page{})) },
			"HeldSchedules": func() error { return third(support.HeldSchedules(ctx, scope, "", storage.Page{})) },
			"CountMade":     func() error { return third(support.CountMade(ctx, scope, lately)) },
			"MessagesMade":  func() error { return third(support.MessagesMade(ctx, scope, lately, storage.Page{})) },
			"MessagesByKey": func() error { return second(support.MessagesByKey(ctx, scope, "m")) },
			"SendTo":        func() error { return second(support.SendTo(ctx, scope, "m", "kim@example.com", by)) },
			"SourceKeys": func() error {
				return second(support.SourceKeys(ctx, scope, notify.Coordinates{PartitionKey: "p", RowKey: "r"}))
			},
			"JobsOf":         func() error { return third(support.JobsOf(ctx, scope, notify.Recipient{Ref: "17"}, storage.Page{})) },
			"Messages":       func() error { return third(support.Messages(ctx, scope, j.RowKey, storage.Page{})) },
			"MessagesByID":   func() error { return second(support.MessagesByID(ctx, scope, "m-1")) },
			"MessagesOfJobs": func() error { return second(support.MessagesOfJobs(ctx, scope, []string{j.RowKey}, 1)) },
			"MessagesOf": func() error {
				return third(support.MessagesOf(ctx, scope, notify.Recipient{Ref: "17"}, storage.Page{}))
			},
			"Pause":             func() error { return support.Pause(ctx, notify.Extent{Scope: scope}, time.Time{}, by) },
			"Outages":           func() error { return second(support.Outages(ctx, scope)) },
			"Pauses":            func() error { return second(support.Pauses(ctx, scope)) },
			"Release":           func() error { return support.Release(ctx, scope, notify.ArtifactOutgoingMessage, key, by) },
			"ReplayDeadLetters": func() error { return second(support.ReplayDeadLetters(ctx, scope, "crm", by, nil)) },
			"Resolve":           func() error { return support.Resolve(ctx, scope, key, notify.DecideSent, by) },
			"Resume":            func() error { return support.Resume(ctx, notify.Extent{Scope: scope}, by) },
			"Retry":             func() error { return second(support.Retry(ctx, scope, key, by)) },
			"ReleaseHeld": func() error {
				return second(support.ReleaseHeld(ctx, scope, notify.HeldMessages{Channel: "a"}, by, nil))
			},
			"ResolveHeld": func() error {
				hours := notify.Doubts{Channel: "a", From: time.Unix(1, 0), Until: time.Unix(2, 0)}
				return second(support.ResolveHeld(ctx, scope, hours, notify.DecideSent, by, nil))
			},
			"RetryFailed": func() error {
				return second(support.RetryFailed(ctx, scope, notify.Failures{Keys: []string{key}}, by, nil))
			},
		}},
		{campaigns, map[string]func() error{
			"Cancel": func() error { return campaigns.Cancel(ctx, scope, "spring", by) },
			"List":   func() error { return third(campaigns.List(ctx, scope, storage.Page{})) },
			"Content": func() error {
				return second(campaigns.Content(ctx, scope, "spring", func(context.Context, notify.CampaignProgress) error { return nil }))
			},
			"DryRun":   func() error { return second(campaigns.DryRun(ctx, campaign, 1)) },
			"Start":    func() error { return second(campaigns.Start(ctx, campaign, time.Time{})) },
			"Pause":    func() error { return campaigns.Pause(ctx, scope, "spring", by) },
			"Progress": func() error { return second(campaigns.Progress(ctx, scope, "spring")) },
			"Resume":   func() error { return campaigns.Resume(ctx, scope, "spring", by) },
		}},
		{contacts, map[string]func() error{
			"Preferences":    func() error { return second(contacts.Preferences(ctx, scope, "17")) },
			"Stop":           func() error { return contacts.Stop(ctx, scope, "17", "", by) },
			"Allow":          func() error { return contacts.Allow(ctx, scope, "17", "", by) },
			"Erased":         func() error { return second(contacts.Erased(ctx, scope, "17")) },
			"SuppressionsOf": func() error { return second(contacts.SuppressionsOf(ctx, scope, sam)) },
			"SetPreferences": func() error {
				return contacts.SetPreferences(ctx, notify.Preference{Scope: scope, RecipientRef: "17", OptedOut: true})
			},
			"Suppress":   func() error { return contacts.Suppress(ctx, scope, channel.Complaint, by, sam) },
			"Suppressed": func() error { return third(contacts.Suppressed(ctx, scope, storage.Page{})) },
			"Unsuppress": func() error { return contacts.Unsuppress(ctx, scope, sam, by) },
		}},
		{table, map[string]func() error{
			"At":        func() error { return second(table.At(ctx, scope, "visit", "1")) },
			"Put":       func() error { return second(table.Put(ctx, scope, "visit", said, by)) },
			"Templates": func() error { return second(table.Templates(ctx, scope, "visit")) },
			"Versions":  func() error { return second(table.Versions(ctx, scope, "visit")) },
			"Withdraw":  func() error { return table.Withdraw(ctx, scope, "visit", "1", by) },
		}},
	}
}

func (w *world) survey(ctx context.Context, scope storage.Scope) []room {
	s, support, responses, results := w.surveys, w.surveys.Support(), w.surveys.Responses(), w.surveys.Results()
	answers, of := survey.Response{Answers: json.RawMessage(`{"rate": 5}`)}, survey.ResponseQuery{SurveyID: 1}
	return []room{
		{s, map[string]func() error{
			"Complete":   func() error { return second(s.Complete(ctx, scope, w.instance, answers)) },
			"Definition": func() error { return second(s.Definition(ctx, scope, 1, 0)) },
			"Health":     func() error { return second(s.Health(ctx, storage.Within(scope))) },
			"Ingest":     func() error { return second(s.Ingest(ctx, batch(scope))) },
			"Link":       func() error { return second(s.Link(ctx, scope, w.instance)) },
			"OpenLink":   func() error { return second(s.OpenLink(ctx, scope, 1, "poster")) },
			"Publish":    func() error { return second(s.Publish(ctx, version(scope))) },
			"Surveys":    func() error { return third(s.Surveys(ctx, scope, storage.Page{})) },
			"Unpublish":  func() error { return s.Unpublish(ctx, scope, 1) },
			"Versions":   func() error { return third(s.Versions(ctx, scope, 1, storage.Page{})) },
		}},
		{support, map[string]func() error{
			"DeadLetters": func() error { return third(support.DeadLetters(ctx, scope, "bi", storage.Page{})) },
			"Delete":      func() error { return support.Delete(ctx, scope, w.instance, by, nil) },
			"Deliveries":  func() error { return second(support.Deliveries(ctx, scope, w.instance)) },
			"Event":       func() error { return second(support.Event(ctx, scope, w.instance)) },
			"Events":      func() error { return third(support.Events(ctx, scope, of)) },
			"Explain":     func() error { return second(support.Explain(ctx, scope, w.instance)) },
			"Assign":      func() error { return support.Assign(ctx, scope, w.instance, survey.Assignment{To: "kim"}, by) },
			"Handle":      func() error { return support.Handle(ctx, scope, w.instance, by) },
			"Work":        func() error { return second(support.Work(ctx, scope, w.instance)) },
			"Worklist":    func() error { return second(support.Worklist(ctx, scope, survey.WorklistQuery{SurveyID: 1})) },
			"Hold":        func() error { return support.Hold(ctx, scope, w.instance, by) },
			"Instance":    func() error { return third(support.Instance(ctx, scope, w.instance)) },
			"Names":       func() error { return second(support.Names(ctx, scope, 1)) },
			"Instances": func() error {
				return third(support.Instances(ctx, scope, survey.Selection{SurveyID: 1}, storage.Page{}))
			},
			"Release":           func() error { return support.Release(ctx, scope, w.instance, by) },
			"Coming":            func() error { return third(support.Coming(ctx, scope, time.Time{}, time.Time{})) },
			"ReplayDeadLetters": func() error { return second(support.ReplayDeadLetters(ctx, scope, "bi", by, nil)) },
			"ReplayEvent":       func() error { return support.ReplayEvent(ctx, scope, w.instance, "bi", by) },
			"ReplayMissed":      func() error { return second(support.ReplayMissed(ctx, scope, "bi", of, by, nil)) },
			"Retry":             func() error { return support.Retry(ctx, scope, w.instance, by) },
			"Rerun":             func() error { return support.Rerun(ctx, scope, w.instance, by) },
			"Cancel":            func() error { return support.Cancel(ctx, scope, w.instance, by) },
		}},
		{responses, map[string]func() error{
			"Comments":        func() error { return third(responses.Comments(ctx, scope, survey.CommentQuery{ResponseQuery: of})) },
			"ExportCSV":       func() error { return second(responses.ExportCSV(ctx, scope, io.Discard, of, nil)) },
			"ExportJSONLines": func() error { return second(responses.ExportJSONLines(ctx, scope, io.Discard, of)) },
			"Get":             func() error { return second(responses.Get(ctx, scope, w.instance)) },
			"List":            func() error { return third(responses.List(ctx, scope, of)) },
		}},
		{results, map[string]func() error{
			"ExportCSV": func() error { return results.ExportCSV(ctx, scope, io.Discard, survey.ResultQuery{SurveyID: 1}, nil) },
			"Get":       func() error { return second(results.Get(ctx, scope, survey.ResultQuery{SurveyID: 1})) },
		}},
	}
}

// each is the error of calls that are all to be refused: of the first that is not, if
// there is one.
func each(errs ...error) error {
	for _, err := range errs {
		if refused := (*storage.ValueError)(nil); !errors.As(err, &refused) {
			return fmt.Errorf("not refused: %v", err)
		}
	}
	return errs[0]
}

// silent is a provider that says nothing.
type silent struct{}

func (silent) Provider() string { return "silent" }

func (silent) Events(channel.WebhookRequest) ([]channel.StatusEvent, error) { return nil, nil }
