package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/survey"
)

// What these guards read costs what it holds, however much others have: it is found by an
// index of its own.

// pageBuffers bounds the pages that a list of a hundred rows touches: each row on a page
// of its own, and the index.
const pageBuffers = 150

// Whether a customer was asked of late is read by the customer's links, forty here.
func TestGuardAContactRuleIsCheapHoweverManyLinksThereAre(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
	n := sized(t, 40_000, 1_000_000)
	linksOf(t, s, n, columns{"customer_ref": fmt.Sprintf("'c' || g %% %d", n/40), "contact_group": "'service'", "last_sent_on": "now() - g % 5 * interval '30 days'"})
	surveys := survey.New(s, notify.New(s, nil, channel.Func("sms:none",
		func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil })), &survey.Options{SurveyURL: "https://host.example/s/{token}"})
	for id, rule := range map[int64]string{1: `{"notAskedWithin": "10d"}`, 2: `{"notAskedWithin": "10d", "group": "service"}`, 3: `{"notAskedWithin": "10d", "group": "sales"}`} {
		ask(t, surveys, id, rule)
	}
	if seen := r.cheap(t, s, "a rule", "last_sent_on\" >=", 80, func() {
		if _, err := surveys.PollOnce(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}); seen != 3 {
		t.Errorf("%d of 3 rules were seen to look", seen)
	}
}

// ask publishes a survey with a contact rule, and tells of an event of a customer who
// has many links.
func ask(t *testing.T, surveys *survey.Service, id int64, rule string) {
	t.Helper()
	_, err := surveys.Publish(t.Context(), survey.Version{SurveyID: id, Name: "n", IntegrationID: "i", Definition: json.RawMessage(fmt.Sprintf(`{
		"questions": [{"id": "rate", "type": "rating"}],
		"triggers": [{"id": "t", "enabled": true, "eventKind": "k%d", "dedupRecipe": ["templateId", "recipient.address"],
			"schedule": {"initialDelay": "0d"}, "channel": "sms:none", "contact": %s}]}`, id, rule))})
	if err == nil {
		_, err = surveys.Ingest(t.Context(), survey.Batch{EventKind: fmt.Sprintf("k%d", id), Items: []survey.Item{{
			Payload: json.RawMessage(`{}`), Recipient: survey.Recipient{Address: "+964 770 000 0001", CustomerRef: fmt.Sprintf("c%d", id)}}}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The digest of a job, and what it is of.
func TestGuardADigestIsCheapHoweverManyEntriesThereAre(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
	n := sized(t, 40_000, 1_000_000)
	fill(t, s, "digest_entry", n, columns{
		"scope": "'tenant'", "key": "'feed' || chr(31) || g || chr(31) || md5(g::text)", "digest": fmt.Sprintf("'d' || g %% %d", n/50),
		"recipient_ref": fmt.Sprintf("'p' || g %% %d", n/50), "recipient_hash": "md5(g::text)", "kind": "'news'", "status": "'Recorded'",
	})
	out := notify.New(s, nil)
	if seen := r.cheap(t, s, "a digest", "digest_entry", pageBuffers, func() {
		in, err := out.Digests(t.Context(), nil, "tenant", notify.Coordinates{PartitionKey: "feed", RowKey: "77"})
		if err != nil || len(in) != 1 || in[0].Others != 49 {
			t.Fatal(in, err)
		}
	}); seen != 2 {
		t.Errorf("%d statements were looked at", seen)
	}
}

// pages reads a list page by page, and fails the test unless each page is cheap. It
// returns how many rows there were.
func (r *recorder) pages(t *testing.T, s *Store, what string, n int, p storage.Page, list func(storage.Page) (int, string, error)) (rows int) {
	t.Helper()
	for page := range n {
		r.cheap(t, s, fmt.Sprint(what, ", page ", page+1), "", pageBuffers, func() {
			got, next, err := list(p)
			if err != nil {
				t.Fatal(what, err)
			}
			rows, p.After = rows+got, next
		})
		if p.After == "" {
			break
		}
	}
	return rows
}

// Messages by their keys, and what was done by a window of ids.
func TestGuardAListOfSupportIsCheapHoweverMuchThereIs(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
	n := sized(t, 40_000, 1_000_000)
	messagesOf(t, s, n)
	fill(t, s, "audit_entry", n, columns{
		"scope": "CASE WHEN g % 100 = 0 THEN 'tenant' ELSE 'other' END", "key": "md5(g::text)", "subject": "'outgoing_message'", "subject_version": "g",
		"action": "'Release'", "program": "'a program'", "code": "'C'", "from_status": "'A'", "to_status": "'B'", "done_on": "'2025-03-01'::timestamptz + g * interval '1 second'",
	})
	desk := support.New(support.Options{Store: s, Notify: notify.New(s, nil)})
	for _, list := range []support.List{support.Messages, support.Audit, support.Campaigns, support.Conflicts, support.Erasures} {
		rows := r.pages(t, s, string(list), 3, storage.Page{Limit: 20}, func(p storage.Page) (int, string, error) {
			all, next, err := desk.List(t.Context(), "tenant", list, p)
			return len(all), next, err
		})
		if want := map[support.List]int{support.Messages: 60, support.Audit: 60}[list]; rows != want {
			t.Errorf("%s: %d rows, not %d", list, rows, want)
		}
	}
}

// What one person got, whichever page it is.
func TestGuardWhatAPersonGotIsCheapHoweverManyMessagesThereAre(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
	const each = 250 // messages of a person: three pages
	peoplesMessages(t, s, sized(t, 40_000, 1_000_000), each)
	out := notify.New(s, nil)
	for name, who := range map[string]notify.Recipient{
		"by reference": {Ref: "p2"}, "by address": {Channel: "email:smtp", Address: "sam@example.com"},
	} {
		if rows := r.pages(t, s, name, 3, storage.Page{}, func(p storage.Page) (int, string, error) {
			rows, next, err := out.Support().MessagesOf(t.Context(), "tenant", who, p)
			return len(rows), next, err
		}); rows != each {
			t.Errorf("%s: %d rows", name, rows)
		}
	}
}

// What a provider's id names, and all that was planned about a person or a source.
func TestGuardWhatSupportLooksUpIsCheapHoweverMuchThereIs(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
	n := sized(t, 40_000, 1_000_000)
	messagesOf(t, s, n)
	exec(t, s.DB(), "UPDATE outgoing_message SET provider_message_id = 'p-' || id WHERE id % 2 = 0", "VACUUM (ANALYZE) outgoing_message")
	scheduled(t, s, n, "certificate", "NULL", "0", "g <= 500", "RetriesExhausted")
	// Eighty rows each: those of a source are found by their keys, all read, and sorted.
	who := fmt.Sprintf("(id %% %d)::text", n/80)
	exec(t, s.DB(), `UPDATE automation_scheduler SET scope = 'tenant', source_type = 'employee', source = `+who+`, person = `+who+`,
		key = 'reminder:setting-' || id % 20 || ':employee:' || `+who+` || ':default:2025-03-01:' || id,
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
	person, source := automation.Subject{Person: "7"}, automation.Subject{Source: automation.Source{Type: "employee", ID: "7"}}
	for name, f := range map[string]func(storage.Page) (int, string, error){
		"a person's past": list(person, false), "a person's coming": list(person, true), "a source's past": list(source, false), "a source's coming": list(source, true),
		"on hold": func(p storage.Page) (int, string, error) {
			rows, next, err := work.Held(t.Context(), "tenant", reasons.RetriesExhausted, p)
			return len(rows), next, err
		},
		"a provider's id": func(storage.Page) (int, string, error) {
			rows, err := out.Support().MessagesByID(t.Context(), "tenant", "p-4242")
			return len(rows), "", err
		},
	} {
		if rows := r.pages(t, s, name, 2, storage.Page{Limit: 20}, f); rows == 0 {
			t.Errorf("%s: no rows", name)
		}
	}
}

// What was planned for some days and ended without a message, beside as many that sent one.
func TestGuardWhatSentNothingIsFoundByTheDay(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
	n := sized(t, 40_000, 1_000_000)
	scheduled(t, s, n, "certificate", "NULL", "0", "false", "")
	exec(t, s.DB(), "UPDATE automation_scheduler SET scope = 'tenant', reason_code = CASE WHEN id % 10 = 0 THEN 'Superseded' ELSE '' END, scheduled_on = scheduled_on + id * interval '1 second'",
		"VACUUM (ANALYZE) automation_scheduler")
	work := automation.New(s, notify.New(s, nil), nil).Support()
	if rows := r.pages(t, s, "withheld", 2, storage.Page{Limit: 50}, func(p storage.Page) (int, string, error) {
		rows, next, err := work.Withheld(t.Context(), "tenant", automation.PlannedFor{From: noon, Until: noon.AddDate(1, 0, 0)}, p)
		return len(rows), next, err
	}); rows != 100 {
		t.Errorf("%d rows", rows)
	}
}

// Runs of reports of a tenant, of which the two hundred oldest wait for a person, beside
// reminders to come, and others' reminders on hold.
func TestGuardAListOfRunsIsCheapHoweverManyRunsThereAre(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
	n := sized(t, 40_000, 1_000_000)
	scheduled(t, s, n, "run", "NULL", "0", "g <= 200", "RetriesExhausted")
	exec(t, s.DB(), `UPDATE automation_scheduler SET automation_type = 'ReportSubscription', scope = 'tenant',
		source = (id % 50)::text, scheduled_on = '2025-03-01'::timestamptz + id * interval '1 second'`)
	scheduled(t, s, n/10, "reminder", "NULL", "0", "true", "RetriesExhausted")
	scheduled(t, s, n/10, "later", "'2999-03-01'::timestamptz", "0", "false", "")
	exec(t, s.DB(), "UPDATE automation_scheduler SET scope = 'tenant' WHERE kind = 'later'", "VACUUM (ANALYZE) automation_scheduler")
	work := automation.New(s, notify.New(s, nil), nil)
	for name, of := range map[string]automation.ReportRuns{
		"failed": {Held: true}, "recent": {Begun: true}, "all": {}, "of one subscription": {Subscription: "7"},
	} {
		if rows := r.pages(t, s, name, 2, storage.Page{}, func(p storage.Page) (int, string, error) {
			of.After = p.After
			rows, next, err := work.Support().ReportRuns(t.Context(), "tenant", of)
			return len(rows), next, err
		}); rows != 200 {
			t.Errorf("%s: %d rows", name, rows)
		}
	}
}

// A page of responses, wherever in the time of a survey it lies, in the order of their index.
func TestGuardAPageOfResponsesIsCheapHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
	const page = 100
	n := sized(t, 40_000, 1_000_000)
	responsesOf(t, s, 1, n)
	responsesOf(t, s, 2, n/10)
	exec(t, s.DB(), "UPDATE survey_response SET handled_on = now() WHERE score < 30", "VACUUM (ANALYZE) survey_response")
	surveys := survey.New(s, nil, nil)
	middle, end := noon.Add(time.Duration(n/2)*time.Minute), noon.Add(time.Duration(n)*time.Minute)
	for name, q := range map[string]survey.ResponseQuery{
		"the first":           {},
		"in the middle":       {Since: middle, Until: middle.Add(24 * time.Hour)},
		"the last hours":      {Since: end.Add(-10 * time.Hour)},
		"until the middle":    {Until: middle},
		"all from the middle": {Since: middle},
	} {
		q.SurveyID, q.Limit = 1, page
		for range 2 {
			r.cheap(t, s, name, "survey_response", 3*page, func() {
				got, next, err := surveys.Responses().List(t.Context(), "", q)
				if err != nil || len(got) != page {
					t.Fatal(len(got), err)
				}
				q.After = next
			})
		}
	}
	for name, q := range map[string]survey.WorklistQuery{"the worklist": {}, "a queue": {Queue: "3"}, "what was handled": {State: survey.WorkHandled}} {
		q.SurveyID, q.Limit = 1, page
		for range 2 {
			r.cheap(t, s, name, "survey_response", 3*page, func() {
				got, err := surveys.Support().Worklist(t.Context(), "", q)
				if err != nil || len(got.Items) != page || got.Total != survey.WorklistCounted {
					t.Fatal(len(got.Items), got.Total, err)
				}
				q.After = got.Next
			})
		}
	}
}

// What an outage has left, of one tenant and of all: a hundred rows by an index, and again
// by their keys, each of which walks down the index.
func TestGuardARecoveryIsCheapHoweverManyMessagesThereAre(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
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
		for scope, everywhere := range map[notify.Scope]bool{"": true, "tenant": false} {
			if r.cheap(t, s, fmt.Sprintf("%s, everywhere %t", name, everywhere), "outgoing_message", 500, func() {
				if n, err := f(scope, everywhere); n != 100 || err != nil {
					t.Fatal(name, n, err)
				}
			}) == 0 {
				t.Errorf("%s: nothing was read", name)
			}
		}
	}
}

// nobody is a type's providers whose sources want nothing any more.
type nobody struct{}

func (nobody) EventTypes() []string { return []string{"certificate.saved"} }
func (nobody) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return make([]automation.Answer, len(of)), nil
}

func (nobody) Recipients(context.Context, automation.Due) ([]notify.Recipient, error) {
	return nil, nil
}

// A re-plan finds its first page, and each later one, by the index of open rows, however
// many rows of one setting and one source type lie in front: it reads none of those that
// are only equal.
func TestGuardAPageOfAReplanIsCheapHoweverManyRowsAreOpen(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
	scheduled(t, s, sized(t, 40_000, 1_000_000), "certificate", "'2999-03-01'::timestamptz + g * interval '1 second'", "0", "false", "")
	exec(t, s.DB(), `UPDATE automation_scheduler SET scope = 'tenant', setting = CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END`, "VACUUM (ANALYZE) automation_scheduler")
	reminders := automation.New(s, notify.New(s, nil), nil)
	reminders.Register(automation.ReminderType{
		Name: "certificate", Template: notify.Template{Subject: "Due"}, Triggers: nobody{}, Recipients: nobody{}, SendAt: "09:00", Zone: "UTC",
	})
	for _, what := range []automation.Replan{{Scope: "tenant"}, {Scope: "tenant", Setting: "odd", Type: "certificate"}} {
		if err := reminders.Maintenance().Replan(t.Context(), what); err != nil {
			t.Fatal(err)
		}
		if seen := r.cheap(t, s, fmt.Sprint(what), `"automation_scheduler"`, 250, func() { // fifty rows, each on a page of its own
			polled(t, reminders.Passes(), "automation.reconcile", 2) // the mark of all types, and a page of one
		}); seen < 2 { // the first part, and its rows
			t.Errorf("%d statements about %v", seen, what)
		}
	}
}

// polled runs a pass of that name so many times.
func polled(t *testing.T, passes []work.Pass, name string, times int) {
	t.Helper()
	for _, p := range passes {
		for range times {
			if p.Name() != name {
				continue
			}
			if _, err := p.Runner(work.Options{}).Poll(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The sweep for what nobody serves finds what waits by the index that polls walk, and
// what it has put on hold by that of holds, beside messages that are due and served.
func TestGuardASweepForWhatNobodyServesReadsNoTable(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
	n := sized(t, 40_000, 500_000)
	messagesOf(t, s, n)
	exec(t, s.DB(), "UPDATE outgoing_message SET status = 'Created', due_on = '2025-03-01'::timestamptz + id * interval '1 second' WHERE id <= 2000",
		"UPDATE outgoing_message SET hold_reason = 'Unserved', status = 'Created' WHERE is_on_support_hold", "VACUUM (ANALYZE) outgoing_message")
	out := notify.New(s, nil, channel.Func("email:out", func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil }))
	if seen := r.cheap(t, s, "a sweep", "outgoing_message", n, func() { polled(t, out.Passes(), "notify.unserved", 1) }); seen < 3 { // lanes, what waits, what is on hold
		t.Errorf("%d statements", seen)
	}
	if n := scan[int](t, s.DB(), "SELECT count(*) FROM outgoing_message WHERE is_on_support_hold"); n != 0 {
		t.Errorf("%d are on hold still", n)
	}
}

// Links and deliveries stay when they are done; what waits for a person among them is
// found by an index.
func TestGuardHealthOfLinksFindsTheFewThatWait(t *testing.T) {
	t.Parallel()
	s, r := migrated(t)
	n := sized(t, 40_000, 1_000_000)
	linksOf(t, s, n, columns{"reason_code": "'" + reasons.HeldBySupport + "'", "is_on_support_hold": "g % 1000 = 0"})
	fill(t, s, "outbox_delivery", n, columns{
		"dead_on": "CASE WHEN g % 1000 = 0 THEN now() END", "scope": "'tenant-' || g % 20", "key": "g::text", "kind": "'survey/crm'", "status": "'Dispatched'",
		"topic": "'survey/response-completed'",
	})
	surveys := survey.New(s, nil, nil)
	var h health.Summary
	for _, statement := range r.during(t, "SELECT", func() {
		var err error
		if h, err = surveys.Health(t.Context(), storage.Everywhere()); err != nil {
			t.Fatal(err)
		}
	}) {
		if p := explained(t, s.DB(), statement); p.sequential() && !ofFewRows(statement.text) || p.buffers() > n/1000+20 {
			t.Errorf("%d buffers, %v: %s", p.buffers(), p.scans(), statement.text)
		}
	}
	if len(h.Holds) != 1 || h.Holds[0].Rows != n/1000 || len(h.DeadLetters) != 1 || h.DeadLetters[0].Rows != n/1000 {
		t.Fatalf("this guard guards nothing: %s", h)
	}
}

// ofFewRows knows the tables of which a scan costs nothing.
func ofFewRows(statement string) bool {
	return strings.Contains(statement, "automation_pause") || strings.Contains(statement, "channel_outage")
}
