package belfry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/once"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/survey"
)

// somebody is a person of whom every text has the name in it.
type somebody string

func (s somebody) ref() string             { return "ref-" + string(s) }
func (s somebody) inbox() string           { return "user:" + string(s) }
func (s somebody) mail() string            { return string(s) + "@example.com" }
func (s somebody) spelled() string         { return " " + string(s) + "@EXAMPLE.com" }
func (s somebody) said(what string) string { return what + " to " + string(s) }
func (s somebody) recipient() notify.Recipient {
	return notify.Recipient{
		Ref: s.ref(), Channel: "email:test", Address: s.mail(), Name: strings.ToUpper(string(s)), Inbox: s.inbox(), Locale: "en",
		Data: map[string]string{"Code": s.said("a code")},
	}
}

// stranger is the person without a Ref.
func (s somebody) stranger() notify.Recipient {
	return notify.Recipient{Channel: "email:test", Address: s.spelled(), Name: string(s)}
}

func (s somebody) person() belfry.Person {
	return belfry.Person{Ref: s.ref(), Addresses: []belfry.PersonAddress{{Method: "email", Address: s.mail()}}, Inboxes: []string{s.inbox()}}
}

const (
	canary = somebody("zinnober")
	other  = somebody("purpur")
)

var dpo = belfry.By{Actor: "the data protection officer", Reason: "a letter of 3 March"}

// office is a host that knows two people, of whom one wants to be forgotten.
type office struct {
	t      *testing.T
	store  storage.Store
	clk    *clock.Mock
	out    *notify.Notifier
	mails  *notifytest.Recorder
	poller *belfry.Poller
	shared notify.AttachmentRef // a file that all get
	log    bytes.Buffer
}

func newOffice(t *testing.T, store storage.Store, clk *clock.Mock) *office {
	o := &office{t: t, store: store, clk: clk, mails: notifytest.NewRecorder()}
	o.open(store)
	return o
}

// open is a program over a store.
func (o *office) open(store storage.Store) {
	key := []byte("a key of the hashes of recipients")
	logger := slog.New(slog.NewTextHandler(&o.log, nil))
	o.out = notify.New(store, &notify.Options{
		HashKey: key, Logger: logger,
		Gates: gate.New(store, &gate.Options{Caps: []gate.Cap{{Limit: 100, Per: time.Hour}}}),
	}, o.mails)
	long := strings.Repeat("{{.Recipient.Name}} and {{.Code}}. ", 200)
	o.out.Register(notify.Type{Name: "news", InDoubt: notify.Hold, Renderer: notify.Template{Subject: "For {{.Recipient.Name}}", Text: "{{.Code}}"}})
	o.out.Register(notify.Type{Name: "book", Renderer: notify.Template{Subject: "For {{.Recipient.Name}}", Text: long}})
	o.out.Subscribe(notify.StatusFunc("crm", func(context.Context, notify.StatusChange) error { return nil }))
	o.poller = belfry.NewPoller(store, &belfry.Options{Logger: logger}, o.out)
}

func (o *office) need(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) drain() {
	o.t.Helper()
	o.need(o.poller.Drain(o.t.Context()))
}

// notify asks for a job, at a moment or now.
func (o *office) notify(typ, row string, on time.Time, to ...notify.Recipient) {
	o.t.Helper()
	_, err := o.out.NotifyAt(o.t.Context(), notify.Job{
		Type: typ, PartitionKey: "course-7", RowKey: row, EntityType: "course", Entity: "7", EventData: json.RawMessage(`{"Course":"first aid"}`), Recipients: to,
	}, on)
	o.need(err)
}

// fill has the tables know as much of a person as they can.
func (o *office) fill(who somebody) {
	o.t.Helper()
	ctx, later := o.t.Context(), o.clk.Now().Add(30*24*time.Hour)
	data := json.RawMessage(fmt.Sprintf(`{"Course":%q}`, who.said("first aid")))
	alone := notify.Job{Type: "news", PartitionKey: "course-7", RowKey: "alone-" + fmt.Sprint(len(who)), EventData: data, Recipients: []notify.Recipient{who.recipient()}}
	_, err := o.out.Notify(ctx, alone)
	o.need(err)
	alone.RowKey = "waits-" + fmt.Sprint(len(who))
	_, err = o.out.NotifyAt(ctx, alone, later)
	o.need(err)
	alone.RowKey = "unscheduled-" + fmt.Sprint(len(who))
	_, err = o.out.EnsureNotificationJob(ctx, nil, alone)
	o.need(err)
	mine, err := notify.Attach(ctx, o.store.Blobs(), string(who)+".txt", "text/plain", "", strings.NewReader(who.said("a file")))
	o.need(err)
	for _, m := range []notify.OutgoingMessage{
		{PartitionKey: "taken back", RecipientRef: who.ref(), Address: who.mail(), ScheduledOn: later},
		{PartitionKey: "with files", RecipientRef: who.ref(), Address: who.mail(), Content: notify.Content{Attachments: []notify.AttachmentRef{mine, o.shared}}},
		{PartitionKey: "by hand", RecipientRef: who.ref(), Address: who.mail(), RecipientName: string(who), Content: notify.Content{Text: who.said("hello")}},
		{PartitionKey: "by hand", Address: who.spelled(), RecipientName: string(who), Content: notify.Content{Text: who.said("hello")}},
		{PartitionKey: "in a month", RecipientRef: who.ref(), Address: who.mail(), Content: notify.Content{Text: who.said("later")}, ScheduledOn: later},
	} {
		m.Channel, m.NotificationType = "email:test", "news"
		got, err := o.out.EnsureOutgoingMessage(ctx, nil, m)
		o.need(err)
		if m.PartitionKey == "taken back" {
			o.need(o.out.Support().Cancel(ctx, "", notify.ArtifactOutgoingMessage, got[0].Key, notify.By{Actor: "ann", Reason: who.said("a call")}))
		}
	}
	o.need(o.out.Contacts().SetPreferences(ctx, notify.Preference{RecipientRef: who.ref(), Type: "other", OptedOut: true}))
}

// fillBoth has jobs and a campaign for both people.
func (o *office) fillBoth() {
	o.t.Helper()
	ctx, later := o.t.Context(), o.clk.Now().Add(30*24*time.Hour)
	var err error
	o.shared, err = notify.Attach(ctx, o.store.Blobs(), "terms.txt", "text/plain", "", strings.NewReader("the terms"))
	o.need(err)
	for _, who := range []somebody{canary, other} {
		o.fill(who)
	}
	both := []notify.Recipient{canary.recipient(), other.recipient(), canary.stranger(), other.stranger()}
	o.notify("news", "both", time.Time{}, both...)
	o.notify("book", "both at length", time.Time{}, both...)
	o.notify("news", "both later", later, both...)
	for guid, on := range map[string]time.Time{"campaign": {}, "campaign-later": later} {
		payload, err := o.out.Campaigns().PutAudience(ctx, notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
			for _, r := range both {
				if !yield(r, nil) {
					return
				}
			}
		}), nil)
		o.need(err)
		job := notify.MessagingJob{GUID: guid, Type: "news", BusinessUnit: "school", Blob: payload.Blob, AudienceSize: payload.Recipients}
		_, err = o.out.EnsureMessagingJob(ctx, nil, job)
		o.need(err)
		_, err = o.out.EnsureNotificationScheduler(ctx, nil, notify.ScheduleForCampaign(job, on))
		o.need(err)
	}
	o.drain()
	for _, m := range o.mails.Messages() {
		_, err := o.out.Track(ctx, channel.StatusEvent{Provider: "test", EventID: m.ID, Kind: channel.KindDelivered, MessageID: m.ID})
		o.need(err)
	}
	o.drain()
}

// collect removes blobs whose last owner is gone, a day after.
func (o *office) collect() {
	o.t.Helper()
	o.clk.Add(25 * time.Hour)
	_, err := o.store.Blobs().Collect(o.t.Context(), 1000)
	o.need(err)
	file, err := o.store.Blobs().Open(o.t.Context(), o.shared.Blob, 0)
	o.need(err)
	o.need(file.Close())
}

// rows is all that is stored, a text for each row.
func (o *office) rows() map[string]string {
	o.t.Helper()
	out := map[string]string{}
	o.need(o.store.View(o.t.Context(), func(from driver.Reader) error {
		clear(out)
		for _, s := range slices.Concat(driver.Schemas(), notify.Schemas(), gate.Schemas(), outbox.Schemas(), sweep.Schemas(), once.Schemas(), automation.Schemas(), survey.Schemas(), report.Schemas(), settings.Schemas()) {
			rows, err := from.Select(o.t.Context(), s, driver.Everywhere(), driver.Query{Limit: 10_000})
			if err != nil {
				return err
			}
			for _, r := range rows {
				var b strings.Builder
				for i := range s.Columns {
					v, err := s.Columns[i].Value(r)
					if err != nil {
						return err
					}
					if bytes, ok := v.([]byte); ok {
						v = string(bytes)
					}
					fmt.Fprintf(&b, "%s=%v ", s.Columns[i].Name, v)
				}
				out[fmt.Sprint(s.Name, " ", driver.RecordOf(r).ID)] = b.String()
			}
		}
		return nil
	}))
	return out
}

// tell are the rows that tell of a person, with their tables.
func tell(rows map[string]string, who somebody) (of map[string]int) {
	of = map[string]int{}
	for row, text := range rows {
		if strings.Contains(strings.ToLower(text), string(who)) {
			table, _, _ := strings.Cut(row, " ")
			of[table]++
		}
	}
	return of
}

// After an erasure nothing is left of a person in any table, blob or log, whatever was
// sent, waits, or is for others too; and of nobody else anything is changed.
func TestNothingIsLeftOfAPersonAndAllOfOthers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		o := newOffice(t, store, clk)
		o.fillBoth()
		before := o.rows()
		of := tell(before, canary)
		t.Log("before:", of)
		for _, table := range []string{"outgoing_message", "notification_job", "user_message", "blob_chunk", "recipient_preference", "recipient_frequency", "outbox_event"} {
			if of[table] == 0 {
				t.Errorf("%s does not know the person to begin with", table)
			}
		}
		dry, err := o.poller.Privacy().Preview(t.Context(), "", canary.person())
		o.need(err)
		report, err := o.poller.Privacy().Erase(t.Context(), "", canary.person(), dpo)
		o.need(err)
		if report.Status != belfry.ErasureLanding || report.Waiting != 0 || !report.NextOn.Equal(clk.Now().Add(time.Hour)) {
			t.Errorf("%+v", report)
		}
		t.Log(report.Tables)
		for table, n := range report.Tables {
			if dry.Tables[table] != n {
				t.Errorf("%s: a dry run said %+v, it was %+v", table, dry.Tables[table], n)
			}
		}
		clk.Add(time.Hour)
		o.drain()
		o.collect()
		if report, err = o.poller.Privacy().Report(t.Context(), "", report.ID); err != nil || report.Status != belfry.ErasureDone {
			t.Errorf("%+v, %v", report, err)
		}
		after := o.rows()
		for row, text := range after {
			if strings.Contains(strings.ToLower(text), string(canary)) {
				t.Errorf("%s: %s", row, text)
			}
		}
		if strings.Contains(strings.ToLower(o.log.String()), string(canary)) {
			t.Errorf("the log tells of the person:\n%s", o.log.String())
		}
		o.untouched(before, after)
	})
}

// untouched wants what tells of the other alone to be as it was.
func (o *office) untouched(before, after map[string]string) {
	o.t.Helper()
	kept := 0
	for row, was := range before {
		low := strings.ToLower(was)
		if strings.Contains(low, string(other)) && !strings.Contains(low, string(canary)) {
			if kept++; after[row] != was {
				o.t.Errorf("%s is changed:\n%s\n%s", row, was, after[row])
			}
		}
	}
	if kept < 10 {
		o.t.Errorf("%d rows of the other were compared", kept)
	}
}

// What a person is shown is what an erasure would remove, and nothing of others.
func TestAPersonIsShownAllThatIsKnownAndNothingOfOthers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		o := newOffice(t, store, clk)
		o.fillBoth()
		before := o.rows()
		var b strings.Builder
		o.need(o.poller.Privacy().Export(t.Context(), &b, "", canary.person()))
		shown := map[string]int{}
		for line := range strings.Lines(b.String()) {
			var l struct{ Table string }
			o.need(json.Unmarshal([]byte(line), &l))
			shown[l.Table]++
			if strings.Contains(strings.ToLower(line), string(other)) {
				t.Errorf("it tells of somebody else: %s", line)
			}
		}
		for table, n := range tell(before, canary) {
			if table != "blob_chunk" && table != "audit_person" && shown[table] < n {
				t.Errorf("%s: %d of %d rows are shown", table, shown[table], n)
			}
		}
		if after := o.rows(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Error("an export changed something")
		}
	})
}

// An old list that is used again after its person was erased: nobody is written to, and who
// is looked for is found in it, however long it has been over.
func TestAnErasedPersonIsFoundInAnOldAudience(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		o := newOffice(t, store, clk)
		o.fillBoth()
		erase := func() {
			_, err := o.poller.Privacy().Erase(t.Context(), "", canary.person(), dpo)
			o.need(err)
			clk.Add(2 * time.Hour)
			o.drain()
		}
		erase()
		payload, err := o.out.Campaigns().PutAudience(t.Context(), notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
			_ = yield(canary.recipient(), nil) && yield(other.recipient(), nil)
		}), nil)
		o.need(err)
		job := notify.MessagingJob{GUID: "old", Type: "news", BusinessUnit: "school", Blob: payload.Blob}
		_, err = o.out.Campaigns().Start(t.Context(), job, time.Time{})
		o.need(err)
		o.drain()
		exported := func() string {
			var out strings.Builder
			o.need(o.poller.Privacy().Export(t.Context(), &out, "", canary.person()))
			return out.String()
		}
		if text := exported(); !strings.Contains(text, `"old"`) {
			t.Errorf("the campaign is not in %s", text)
		}
		erase()
		if text := exported(); strings.Contains(text, `"old"`) {
			t.Errorf("the campaign still has them: %s", text)
		}
	})
}

// Whoever was erased gets nothing more, however it is asked for, until they are admitted;
// a wish that is repeated is answered as before.
func TestWhatComesAgainForAnErasedPersonIsNotSent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		o := newOffice(t, store, clk)
		o.fillBoth()
		erased, err := o.poller.Privacy().Erase(t.Context(), "", canary.person(), dpo)
		o.need(err)
		clk.Add(time.Hour)
		o.drain()
		sent := len(o.mails.Messages())
		again, err := o.out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
			Channel: "email:test", NotificationType: "book", PartitionKey: "by hand", RecipientRef: canary.ref(), Address: canary.mail(),
			Content: notify.Content{Text: "another text"},
		})
		if err != nil || again[0].Outcome != storage.Unchanged {
			t.Errorf("the same wish with another text: %+v, %v", again, err)
		}
		_, err = o.out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
			Channel: "email:test", NotificationType: "news", PartitionKey: "another", RecipientRef: canary.ref(), Address: "new-" + canary.mail(),
			Content: notify.Content{Text: canary.said("welcome")},
		})
		o.need(err)
		o.notify("news", "comes again", time.Time{}, canary.recipient(), other.recipient())
		o.notify("news", "comes again alone", time.Time{}, canary.recipient())
		clk.Add(40 * 24 * time.Hour) // what waited, too
		o.drain()
		for _, m := range o.mails.Messages()[sent:] {
			if strings.Contains(strings.ToLower(m.To+m.Name), string(canary)) {
				t.Errorf("%s got %q", m.To, m.Text)
			}
		}
		if n := len(o.mails.Messages()) - sent; n == 0 {
			t.Error("the other got nothing either")
		}
		o.collect()
		for row, text := range o.rows() {
			if strings.Contains(strings.ToLower(text), string(canary)) {
				t.Errorf("%s is stored again: %s", row, text)
			}
		}
		o.need(o.poller.Privacy().Admit(t.Context(), "", canary.person(), dpo))
		o.notify("news", "after all", time.Time{}, canary.recipient())
		o.drain()
		if all := o.mails.Messages(); all[len(all)-1].To != canary.mail() {
			t.Error("who is admitted again gets nothing")
		}
		if _, err := o.poller.Privacy().Report(t.Context(), "", erased.ID); err != nil {
			t.Error(err)
		}
	})
}

// Reminders, series and surveys are found by the same Ref: what waits is cancelled, and
// what has ended is emptied.
func TestRemindersAndSurveysOfAPersonAreErased(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		o := newOffice(t, store, clk)
		reminders := automation.New(store, o.out, nil)
		reminders.Register(automation.ReminderType{
			Name: "visit", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "A visit"},
			Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
				if d.Person == "" {
					return nil, nil
				}
				return []notify.Recipient{{Ref: d.Person, Channel: "email:test", Address: somebody(strings.TrimPrefix(d.Person, "ref-")).mail()}}, nil
			}),
		})
		surveys := survey.New(store, o.out, &survey.Options{SurveyURL: "https://school.example/s/{token}"})
		_, err := surveys.Publish(t.Context(), survey.Version{SurveyID: 1, Name: "visit", IntegrationID: "visit", Definition: json.RawMessage(`{
			"questions": [{"id": "rate", "type": "rating", "min": 1, "max": 10, "required": true}],
			"triggers": [{"id": "visit", "enabled": true, "eventKind": "visit", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
				"schedule": {"initialDelay": "0d", "reminders": ["1d"]}, "channel": "email:test"}]}`)})
		o.need(err)
		o.poller = belfry.NewPoller(store, nil, reminders, o.out, surveys)
		soon, later := automation.Date{Year: 2026, Month: 3, Day: 2}, automation.Date{Year: 2026, Month: 5, Day: 1}
		for i, who := range []somebody{canary, other} {
			for source, on := range map[string]automation.Date{fmt.Sprint("soon-", i): soon, fmt.Sprint("later-", i): later} {
				_, err := reminders.Ensure(t.Context(), automation.Candidate{
					Type: "visit", Person: who.ref(), Source: automation.Source{Type: "visit", ID: source}, TargetDate: on,
				})
				o.need(err)
			}
			_, err = reminders.Type("visit").Set(t.Context(), automation.About{ID: fmt.Sprint("past-", i), SourceType: "visit", Person: who.ref()},
				automation.DaysBefore(later, 7), automation.DaysBefore(later, 14), automation.Candidate{TriggerKey: who.said("goodbye"), TargetDate: automation.Date{Year: 2026, Month: 2, Day: 1}})
			o.need(err)
			_, err = reminders.Type("visit").Set(t.Context(), automation.About{ID: fmt.Sprint("past-", i), SourceType: "visit", Person: who.ref(), Because: who.said("a letter")},
				automation.DaysBefore(later, 7))
			o.need(err)
			_, err = reminders.Ensure(t.Context(), automation.Candidate{
				Type: "visit", Person: who.ref(), Source: automation.Source{Type: "course", ID: fmt.Sprint("weekly-", i)}, Recurrence: &automation.Recurrence{Cron: "0 9 * * 5"},
			})
			o.need(err)
			report, err := surveys.Ingest(t.Context(), survey.Batch{EventKind: "visit", Items: []survey.Item{{
				Payload:   json.RawMessage(fmt.Sprintf(`{"wip":"%d","CustomerName":%q}`, i, who)),
				Recipient: survey.Recipient{Address: who.mail(), CustomerRef: who.ref()},
			}}})
			if err != nil || len(report.Items[0].Instances) != 1 {
				t.Fatal(report, err)
			}
		}
		for source, on := range map[string]automation.Date{"soon": soon, "later": later} { // of nobody, but of what is the person's
			_, err := reminders.Ensure(t.Context(), automation.Candidate{Type: "visit", Source: automation.Source{Type: "badge", ID: source}, TargetDate: on})
			o.need(err)
		}
		_, err = reminders.Type("visit").Set(t.Context(), automation.About{ID: "past", SourceType: "badge"},
			automation.Candidate{TriggerKey: canary.said("farewell"), TargetDate: automation.Date{Year: 2026, Month: 2, Day: 1}})
		o.need(err)
		clk.Add(36 * time.Hour)
		o.drain()
		before := o.rows()
		for _, table := range []string{"automation_scheduler", "automation_series", "automation_source", "survey_instance"} {
			if tell(before, canary)[table] == 0 {
				t.Errorf("%s does not know the person to begin with", table)
			}
		}
		who := canary.person()
		who.Entities = []belfry.Entity{{Type: "badge", ID: "soon"}, {Type: "badge", ID: "later"}, {Type: "badge", ID: "past"}}
		report, err := o.poller.Privacy().Erase(t.Context(), "", who, dpo)
		o.need(err)
		if report.Tables["automation_scheduler"].Emptied != 7 || report.Tables["automation_source"].Cut != 2 || report.Tables["automation_series"].Cut != 1 || report.Tables["survey_instance"].Cut != 1 {
			t.Errorf("%+v", report.Tables)
		}
		clk.Add(time.Hour)
		o.drain()
		after := o.rows()
		for row, text := range after {
			if strings.Contains(strings.ToLower(text), string(canary)) {
				t.Errorf("%s: %s", row, text)
			}
		}
		for row, was := range before {
			if strings.Contains(was, string(other)) && strings.HasPrefix(row, "survey") && after[row] != was {
				t.Errorf("%s is changed:\n%s\n%s", row, was, after[row])
			}
		}
		e, err := reminders.Explain(t.Context(), "", "reminder:visit:visit:later-0:default:2026-05-01:0")
		o.need(err)
		if want := "nothing, and nothing if it is asked for again: its person was erased"; e.Now != want {
			t.Errorf("%s", e.Now)
		}
		sent := len(o.mails.Messages())
		for range 10 {
			clk.Add(7 * 24 * time.Hour)
			o.drain()
		}
		for _, m := range o.mails.Messages()[sent:] {
			if m.To != other.mail() {
				t.Errorf("%s got %q", m.To, m.Subject)
			}
		}
		if len(o.mails.Messages()) == sent {
			t.Error("the other got nothing either")
		}
	})
}

// Whoever is a recipient of a report or a subscriber in a setting is taken out of it, and
// shown what it says of them; of others nothing is changed, nor shown.
func TestAPersonIsErasedFromReportsAndSettings(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		ctx, scope, o := t.Context(), storage.Scope("north"), newOffice(t, store, clk)
		kept := settings.New(store, nil)
		out := notify.New(store, &notify.Options{Catalogue: kept.Catalogue(func(context.Context, settings.NotificationSetting) ([]notify.Recipient, error) { return nil, nil })}, o.mails)
		reminders := automation.New(store, out, &automation.Options{Settings: kept})
		reports := report.New(store, reminders, out, nil)
		capital := notify.Recipient{Channel: "email:test", Address: strings.ToUpper(canary.mail())}
		for guid, to := range map[string][]notify.Recipient{
			"both": {canary.recipient(), other.recipient(), canary.stranger(), capital}, "alone": {canary.recipient()}, "other": {other.recipient()},
		} {
			_, err := reports.Create(ctx, report.Subscription{
				Scope: scope, GUID: guid, Type: "sales", Name: "sales", Cadence: automation.Recurrence{Cron: "0 9 * * 5"}, Zone: "UTC", Recipients: to,
			})
			o.need(err)
		}
		for typ, who := range map[string][]string{
			"both": {canary.ref(), canary.inbox(), canary.mail(), strings.ToUpper(canary.mail()), "badge:" + string(canary), other.ref(), "role:manager"},
			"none": {other.mail()},
		} {
			_, err := kept.SaveNotification(ctx, settings.NotificationSetting{Scope: scope, Type: typ, Enabled: true, Subscribers: who})
			o.need(err)
		}
		before := o.rows()
		if of := tell(before, canary); of["report_subscription"] != 2 || of["notification_setting"] != 1 {
			t.Fatal("before: ", of)
		}
		who := canary.person()
		who.Entities = []belfry.Entity{{Type: "badge", ID: string(canary)}}
		privacy := belfry.NewPoller(store, nil, reminders, out, survey.New(store, nil, nil)).Privacy()
		var shown strings.Builder
		o.need(privacy.Export(ctx, &shown, scope, who))
		if text := shown.String(); strings.Contains(text, string(other)) || strings.Contains(text, "manager") || strings.Count(text, `{"table":`) != 3 {
			t.Errorf("shown: %s", text)
		}
		dry, err := privacy.Preview(ctx, scope, who)
		o.need(err)
		done, err := privacy.Erase(ctx, scope, who, dpo)
		o.need(err)
		for table, want := range map[string]int{"report_subscription": 2, "notification_setting": 1} {
			if done.Tables[table].Cut != want || dry.Tables[table] != done.Tables[table] {
				t.Errorf("%s: %+v, and %+v by the dry run", table, done.Tables[table], dry.Tables[table])
			}
		}
		for _, k := range done.Kept {
			if strings.HasPrefix(k.Table, "all of") {
				t.Errorf("%+v", k)
			}
		}
		clk.Add(time.Hour)
		o.need(belfry.NewPoller(store, nil, reminders, out, survey.New(store, nil, nil)).Drain(ctx))
		after := o.rows()
		if of := tell(after, canary); len(of) > 0 {
			t.Errorf("left: %v", of)
		}
		left, err := reports.Subscription(ctx, scope, "both")
		if err != nil || fmt.Sprint(left.Recipients) != fmt.Sprint([]notify.Recipient{other.recipient()}) {
			t.Errorf("%+v, %v", left, err)
		}
		setting, err := kept.Notification(ctx, scope, "both", "")
		if err != nil || fmt.Sprint(setting.Subscribers) != fmt.Sprint([]string{other.ref(), "role:manager"}) {
			t.Errorf("%+v, %v", setting, err)
		}
		for row, was := range before {
			if strings.Contains(was, string(other)) && !strings.Contains(strings.ToLower(was), string(canary)) && after[row] != was {
				t.Errorf("%s is changed:\n%s\n%s", row, was, after[row])
			}
		}
	})
}

// A link that was sent to an address and names nobody is found by the address, in any
// spelling; one that names somebody else is theirs.
func TestALinkToAnAddressAloneIsErased(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		ctx, o := t.Context(), newOffice(t, store, clk)
		out := notify.New(store, nil, o.mails)
		surveys := survey.New(store, out, &survey.Options{SurveyURL: "https://school.example/s/{token}"})
		_, err := surveys.Publish(ctx, survey.Version{SurveyID: 1, Name: "visit", IntegrationID: "visit", Definition: json.RawMessage(visitForm)})
		o.need(err)
		ids := map[string]string{}
		for name, to := range map[string]survey.Recipient{
			"as it is": {Address: canary.mail()}, "spelled": {Address: " Zinnober@EXAMPLE.com"}, "undeliverable": {Address: string(canary)},
			"other": {Address: other.mail()}, "shared": {Address: canary.mail(), CustomerRef: other.ref()},
		} {
			got, err := surveys.Ingest(ctx, survey.Batch{EventKind: "visit", Items: []survey.Item{{
				Payload: json.RawMessage(fmt.Sprintf(`{"wip":%q}`, name)), Recipient: to,
			}}})
			o.need(err)
			ids[name] = got.Items[0].Instances[0].PublicID
		}
		poller := belfry.NewPoller(store, nil, surveys, out)
		o.need(poller.Drain(ctx))
		for _, name := range []string{"as it is", "shared"} {
			link, err := surveys.Link(ctx, "", ids[name])
			o.need(err)
			_, err = surveys.Submit(ctx, link[strings.LastIndex(link, "/")+1:], survey.Response{Answers: json.RawMessage(`{"rate": 7, "words": "by ` + name + `"}`)})
			o.need(err)
		}
		who := canary.person()
		who.Addresses = append(who.Addresses, belfry.PersonAddress{Method: "email", Address: string(canary)})
		var shown strings.Builder
		o.need(poller.Privacy().Export(ctx, &shown, "", who))
		if text := shown.String(); strings.Count(text, `{"table":"survey_instance"`) != 3 || !strings.Contains(text, `"survey_response"`) || strings.Contains(text, "by shared") {
			t.Errorf("shown: %s", text)
		}
		report, err := poller.Privacy().Erase(ctx, "", who, dpo)
		if err != nil || report.Tables["survey_instance"].Cut != 3 {
			t.Errorf("%+v, %v", report.Tables, err)
		}
		clk.Add(time.Hour) // the row of the erasure has the person until then
		o.need(poller.Drain(ctx))
		for _, line := range o.rows() {
			low := strings.ToLower(line)
			if strings.Contains(low, "by as it is") || strings.Contains(low, string(canary)) && !strings.Contains(low, other.ref()) {
				t.Errorf("left: %s", line)
			}
		}
		for name, id := range ids {
			link, err := surveys.Link(ctx, "", id)
			if theirs := name == "other" || name == "shared"; theirs != (err == nil) {
				t.Errorf("%s: %q, %v", name, link, err)
			}
		}
	})
}

// SQLite leaves what was deleted in free pages and in its log. Compact takes the last byte of
// a person from the files, as docs/privacy.md says.
func TestACompactFileOfSQLiteHasNoByteOfAPerson(t *testing.T) {
	testlevel.Need(t, testlevel.Check)
	t.Parallel()
	clk, path := clock.NewMock(), filepath.Join(t.TempDir(), "app.db")
	clk.Set(storetest.Start)
	store, err := sqlite.Open(t.Context(), path, &sqlite.Options{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	o := newOffice(t, store, clk)
	o.fillBoth()
	told := func(who somebody) (n int) {
		for _, name := range []string{path, path + "-wal"} {
			all, err := os.ReadFile(name)
			o.need(err)
			n += bytes.Count(bytes.ToLower(all), []byte(who))
		}
		return n
	}
	before := told(canary)
	_, err = o.poller.Privacy().Erase(t.Context(), "", canary.person(), dpo)
	o.need(err)
	clk.Add(time.Hour)
	o.drain()
	o.collect()
	erased := told(canary)
	o.need(store.Compact(t.Context()))
	t.Logf("the person is there %d times, %d times after the erasure, %d times in the file written anew", before, erased, told(canary))
	if before == 0 || told(canary) != 0 || told(other) == 0 {
		t.Errorf("%d times before, %d afterwards; the other %d", before, told(canary), told(other))
	}
}

// visitForm asks after a visit.
const visitForm = `{"questions": [
		{"id": "rate", "type": "rating", "min": 1, "max": 10, "required": true},
		{"id": "words", "type": "longText"}],
	"triggers": [{"id": "visit", "enabled": true, "eventKind": "visit", "dedupRecipe": ["templateId", "candidate.wip"],
		"schedule": {"initialDelay": "0d", "reminders": ["1d"]}, "channel": "email:test"}]}`

func ExamplePrivacy_Erase() {
	ctx, clk := context.Background(), clock.NewMock()
	store := memory.New(&memory.Options{Clock: clk})
	mails := notifytest.NewRecorder()
	out := notify.New(store, nil, mails)
	poller := belfry.NewPoller(store, nil, out)
	for _, invoice := range []string{"invoice-1", "invoice-2"} {
		_, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
			Channel: mails.Key(), NotificationType: "invoice", PartitionKey: invoice, RecipientRef: "17", Address: "sam@example.com",
			Content: notify.Content{Text: "Dear Sam"},
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	sam := belfry.Person{Ref: "17", Addresses: []belfry.PersonAddress{{Method: "email", Address: "sam@example.com"}}}
	by := belfry.By{Actor: "ann", Reason: "a letter of 3 March"}
	report, err := poller.Privacy().Erase(ctx, "", sam, by)
	fmt.Println(report.Tables["outgoing_message"].Emptied, "messages were emptied;", report.Status, err)
	clk.Add(time.Hour)
	fmt.Println(poller.Drain(ctx), len(mails.Messages()), "were sent")
	report, err = poller.Privacy().Report(ctx, "", report.ID)
	fmt.Println(report.Status, err)
	// Output:
	// 2 messages were emptied; Landing <nil>
	// <nil> 0 were sent
	// Done <nil>
}

func ExamplePrivacy_Export() {
	ctx, store := context.Background(), memory.New(nil)
	out := notify.New(store, nil)
	_, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
		Channel: "email:smtp", NotificationType: "invoice", PartitionKey: "invoice-1", RecipientRef: "17", Address: "sam@example.com",
	})
	var b strings.Builder
	fmt.Println(err, belfry.NewPoller(store, nil, out).Privacy().Export(ctx, &b, "", belfry.Person{Ref: "17"}))
	var line struct {
		Table string
		Row   struct{ Address, Status string }
	}
	fmt.Println(json.Unmarshal([]byte(b.String()), &line), line.Table, line.Row.Address, line.Row.Status)
	// Output:
	// <nil> <nil>
	// <nil> outgoing_message sam@example.com Created
}

// A process dies at each transaction of an erasure in turn, before it or with its reply
// lost, and the call is repeated by another: in the end it is exact.
func TestAnErasureMayDieAtAnyMoment(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		o := newOffice(t, store, clk)
		o.fillBoth()
		before, deaths := o.rows(), 0
		for n := 1; n > 0; n++ {
			for _, reply := range []bool{false, true} {
				spy := &storetest.Spy{Store: store}
				o.open(spy)
				spy.SetHook(storetest.Lose(n, reply))
				if _, err := o.poller.Privacy().Erase(t.Context(), "", canary.person(), dpo); err != nil {
					deaths++
				}
				if spy.Begun() < n {
					n = -1
					break
				}
			}
		}
		if deaths < 20 {
			t.Errorf("it died %d times", deaths)
		}
		o.open(store)
		for range 3 { // one that failed in a pass waits for a quarter of an hour
			clk.Add(time.Hour)
			o.drain()
		}
		o.collect()
		after := o.rows()
		if of := tell(after, canary); len(of) > 0 {
			t.Errorf("left after %d deaths: %v", deaths, of)
		}
		o.untouched(before, after)
	})
}

// However much people did to a person's rows, no transaction writes more than a thousand
// rows, and the first sweep leaves none behind.
func TestNoTransactionOfAnErasureIsLarge(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	store := storetest.Memory(t, clk)
	spy := &storetest.Spy{Store: store}
	o := newOffice(t, spy, clk)
	const messages = 320
	for n := range messages {
		got, err := o.out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
			PartitionKey: fmt.Sprint("m-", n), RecipientRef: canary.ref(), Address: canary.mail(), Channel: "email:test", NotificationType: "news",
			Content: notify.Content{Text: canary.said("hello")}, ScheduledOn: clk.Now().Add(24 * time.Hour),
		})
		o.need(err)
		for version := range int64(3) {
			o.need(store.InTx(t.Context(), func(tx storage.Tx) error {
				return audit.Write(t.Context(), tx, &audit.Entry{
					Subject: "outgoing_message", SubjectKey: got[0].Key, SubjectID: int64(n) + 1, SubjectVersion: version + 2,
					Action: "Release", Actor: "ann", Reason: canary.said("a call"), On: clk.Now(),
				})
			}))
		}
	}
	written, largest := map[int]int{}, 0
	spy.SetHook(func(c storetest.Call) error {
		switch c.Verb {
		case storetest.Update, storetest.Delete, storetest.Insert:
			written[c.Number] += len(c.Rows)
			largest = max(largest, written[c.Number])
		}
		return nil
	})
	report, err := o.poller.Privacy().Erase(t.Context(), "", canary.person(), dpo)
	spy.SetHook(nil)
	if err != nil || report.Tables["outgoing_message"].Emptied != messages || report.Waiting != 0 || largest > 1000 || largest < 300 {
		t.Errorf("%+v, %d waiting, %v: at most %d rows in a transaction", report.Tables["outgoing_message"], report.Waiting, err, largest)
	}
	clk.Add(time.Hour)
	o.drain()
	if of := tell(o.rows(), canary); len(of) > 0 {
		t.Errorf("left: %v", of)
	}
}

// What is with a provider at that moment is erased an hour later.
func TestWhatIsUnderWayIsErasedWhenItHasLanded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		o := newOffice(t, store, clk)
		var report belfry.ErasureReport
		channel := channel.Func("push:test", func(ctx context.Context, _ channel.Message) (channel.Receipt, error) {
			var err error
			report, err = o.poller.Privacy().Erase(ctx, "", canary.person(), dpo)
			return channel.Receipt{ID: "1"}, err
		})
		out := notify.New(store, &notify.Options{HashKey: []byte("a key of the hashes of recipients")}, channel)
		o.poller = belfry.NewPoller(store, nil, out)
		_, err := out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
			Channel: "push:test", NotificationType: "news", PartitionKey: "1", RecipientRef: canary.ref(), Address: canary.said("a device"),
		})
		o.need(err)
		o.drain()
		if report.Waiting != 1 {
			t.Errorf("%+v", report)
		}
		clk.Add(time.Hour)
		o.drain()
		if report, err = o.poller.Privacy().Report(t.Context(), "", report.ID); report.Status != belfry.ErasureDone || report.Tables["outgoing_message"].Emptied != 1 {
			t.Errorf("%+v, %v", report, err)
		}
		if of := tell(o.rows(), canary); len(of) > 0 {
			t.Errorf("left: %v", of)
		}
	})
}

func TestAListOfErasuresIsAppliedToARestoredDatabase(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		o := newOffice(t, store, clk)
		o.fillBoth()
		line, err := json.Marshal(belfry.Erasure{Person: canary.person()})
		o.need(err)
		n, err := o.poller.Privacy().Reapply(t.Context(), strings.NewReader(string(line)+"\n\n{\"person\":\"zinnober\"}\n"), dpo)
		if n != 1 || err == nil || !strings.Contains(err.Error(), "line 3") || strings.Contains(err.Error(), string(canary)) {
			t.Errorf("%d, %v", n, err)
		}
		clk.Add(time.Hour)
		o.drain()
		o.collect()
		if of := tell(o.rows(), canary); len(of) > 0 {
			t.Errorf("left: %v", of)
		}
	})
}

// Nobody is erased who is not named, for no reason, or by a hook that fails: its error,
// which may be personal, is the caller's alone.
func TestAnErasureThatIsRefusedWritesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		o := newOffice(t, store, clk)
		o.fillBoth()
		before := fmt.Sprint(o.rows())
		failing := belfry.NewPoller(store, &belfry.Options{Privacy: belfry.PrivacyOptions{
			Entities: func(context.Context, storage.Scope, belfry.Person) ([]belfry.Entity, error) {
				return nil, errors.New("no " + string(canary))
			},
		}}, o.out)
		for name, c := range map[string]struct {
			poller *belfry.Poller
			who    belfry.Person
			by     belfry.By
		}{
			"nobody":         {o.poller, belfry.Person{}, dpo},
			"no reason":      {o.poller, canary.person(), belfry.By{Actor: "ann"}},
			"no method":      {o.poller, belfry.Person{Addresses: []belfry.PersonAddress{{Address: canary.mail()}}}, dpo},
			"a NUL":          {o.poller, belfry.Person{Ref: string(canary) + "\x00"}, dpo},
			"a failing hook": {failing, canary.person(), dpo},
		} {
			_, err := c.poller.Privacy().Erase(t.Context(), "", c.who, c.by)
			if err == nil || strings.Contains(err.Error(), string(canary)) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := fmt.Sprint(o.rows()); after != before {
			t.Error("something was written")
		}
	})
}
