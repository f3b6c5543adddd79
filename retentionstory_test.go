package belfry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// wish is what the model knows of something that was asked for.
type wish struct {
	kind    string // of the ways below
	id      string
	due     time.Time
	horizon time.Duration // it is not asked for again so long after it was due; zero: it may be
}

// retelling is a world in which many wishes are told, again and again, while what ended
// a month ago is forgotten.
type retelling struct {
	t       *testing.T
	clk     *clock.Mock
	out     *notify.Notifier
	due     *automation.Scheduler
	asked   *survey.Service
	poller  *belfry.Poller
	tales   int
	scope   storage.Scope // of the tale that goes on
	rng     *rand.Rand
	refused map[string]bool // addresses whose first call fails

	mu   sync.Mutex
	sent map[string]int // accepted calls and runs, by id

	instances map[string]string // public ids of survey links, by id
}

func newRetelling(t *testing.T, store storage.Store, clk *clock.Mock, seed uint64) *retelling {
	r := &retelling{t: t, clk: clk, rng: rand.New(rand.NewPCG(seed, 1)), refused: map[string]bool{}, sent: map[string]int{}, instances: map[string]string{}}
	r.out = notify.New(store, nil, channel.Func("email:test", r.send))
	r.out.Register(notify.Type{Name: "welcome", Renderer: notify.Template{Subject: "Welcome"}})
	r.out.Register(notify.Type{Name: "trial", Renderer: notify.Template{Subject: "Try it"}, ForgetAfter: 60 * days})
	r.due = automation.New(store, r.out, nil)
	r.due.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
		for _, d := range due {
			r.count(d.Source.ID)
		}
		return make([]automation.Outcome, len(due)), nil
	})})
	r.due.Register(automation.ReminderType{
		Name: "certificate", Template: notify.Template{Subject: "It expires"},
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Channel: "email:test", Address: d.Source.ID + "@example.com"}}, nil
		}),
	})
	r.asked = survey.New(store, r.out, &survey.Options{SurveyURL: "https://host.example/s/{token}"})
	keep := belfry.Retention{Reminders: 30 * days, Messages: 30 * days, Inbox: 30 * days, Events: 30 * days, Surveys: 30 * days, Responses: 30 * days}
	r.poller = belfry.NewPoller(store, &belfry.Options{Retention: keep}, r.due, r.out, r.asked)
	return r
}

func (r *retelling) count(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent[id]++
}

func (r *retelling) send(_ context.Context, m channel.Message) (channel.Receipt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := m.To[:len(m.To)-len("@example.com")]
	if r.refused[id] {
		delete(r.refused, id)
		return channel.Receipt{}, &channel.Error{Class: channel.ClassTransient, Code: "busy"}
	}
	r.sent[id]++
	return channel.Receipt{ID: m.ID}, nil
}

// ask tells a wish, or another one under its key, and says what came of it.
func (r *retelling) ask(w wish, says string) storage.Outcome {
	r.t.Helper()
	var outcome storage.Outcome
	var err error
	switch w.kind {
	case "welcome", "trial":
		var got notify.Ensured
		got, err = r.out.NotifyAt(r.t.Context(), notify.Job{
			Scope: r.scope, Type: w.kind, PartitionKey: w.id, RowKey: "job-" + w.id, EventData: json.RawMessage(`"` + says + `"`),
			Recipients: []notify.Recipient{{Channel: "email:test", Address: w.id + "@example.com", Inbox: "user:" + w.id}},
		}, w.due)
		outcome = got.Outcome
	case "message":
		var got []notify.Ensured
		got, err = r.out.EnsureOutgoingMessage(r.t.Context(), nil, notify.OutgoingMessage{
			Scope: r.scope, Channel: "email:test", NotificationType: "welcome", PartitionKey: "by hand", Address: w.id + "@example.com",
			Content: notify.Content{Subject: says}, ScheduledOn: w.due,
		})
		outcome = got[0].Outcome
	case "export":
		var got []automation.Ensured
		got, err = r.due.Ensure(r.t.Context(), automation.Candidate{
			Scope: r.scope, AutomationType: "export", Source: automation.Source{Type: "file", ID: w.id}, ScheduledOn: w.due,
		})
		outcome = got[0].Outcome
	case "certificate":
		var got []automation.Ensured
		got, err = r.due.Ensure(r.t.Context(), automation.Candidate{
			Scope: r.scope, Type: "certificate", Source: automation.Source{Type: "person", ID: w.id},
			TargetDate: automation.Date{Year: w.due.Year(), Month: w.due.Month(), Day: w.due.Day()}, SendAt: "09:00", Zone: "UTC",
		})
		outcome = got[0].Outcome
	}
	if w.kind == "survey" {
		outcome, err = r.invite(w.id)
	}
	if conflict := (*notify.ConflictError)(nil); err != nil && !errors.As(err, &conflict) {
		r.t.Fatal(err)
	}
	return outcome
}

// oneLink asks once, and never again.
const oneLink = `{
	"questions": [{"id": "rate", "type": "rating"}],
	"triggers": [{"id": "visits", "enabled": true, "eventKind": "visit-closed", "dedupRecipe": ["templateId", "recipient.address"],
		"schedule": {"initialDelay": "0d", "reminders": []}, "channel": "email:test"}]
}`

// invite tells of a visit, and of one whose link was sent perhaps the response.
func (r *retelling) invite(id string) (storage.Outcome, error) {
	report, err := r.asked.Ingest(r.t.Context(), survey.Batch{Scope: r.scope, EventKind: "visit-closed", Items: []survey.Item{
		{Payload: json.RawMessage("{}"), Recipient: survey.Recipient{Address: id + "@example.com"}},
	}})
	if err != nil {
		return "", err
	}
	got := report.Items[0].Instances[0]
	first := r.instances[id]
	switch {
	case first == "":
		r.instances[id] = got.PublicID
	case got.PublicID != first || got.Outcome != survey.Skipped:
		r.t.Errorf("%s has another link", id)
	}
	r.mu.Lock()
	sent := r.sent[id] > 0
	r.mu.Unlock()
	if sent && r.rng.IntN(8) > 0 {
		_, err = r.asked.Complete(r.t.Context(), r.scope, got.PublicID, survey.Response{Answers: json.RawMessage(`{"rate": 5}`)})
		if errors.Is(err, survey.ErrNoSurvey) { // it is over
			err = nil
		}
	}
	if got.Outcome == survey.Skipped {
		return storage.Unchanged, err
	}
	return storage.Created, err
}

// pass lets time pass, with its polls.
func (r *retelling) pass(d time.Duration) {
	r.t.Helper()
	for left := d + time.Hour; left > 0; left -= 3 * days { // a message is valid for a week
		for _, step := range []time.Duration{min(left, 3*days), time.Hour} {
			r.clk.Add(step)
			if err := r.poller.Drain(r.t.Context()); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// tale is what one tenant has asked for.
type tale struct {
	scope storage.Scope
	told  []wish
}

// tell tells n tales beside one another, each a few wishes of one tenant in a random
// order, and checks each wish against the model: it is done once, and asked for again it
// is what it was.
func (r *retelling) tell(n int) {
	tales := make([]tale, n)
	for i := range tales {
		r.tales++
		tales[i].scope = storage.Scope(fmt.Sprint("tenant-", r.tales))
		_, err := r.asked.Publish(r.t.Context(), survey.Version{Scope: tales[i].scope, SurveyID: 1, Name: "Visits", Definition: json.RawMessage(oneLink)})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	for range 12 {
		for i := range tales {
			r.step(&tales[i])
		}
		if r.rng.IntN(2) == 0 {
			r.pass(time.Duration(r.rng.IntN(45*24)) * time.Hour)
		}
	}
	r.pass(60 * days)
	for _, of := range tales {
		r.scope = of.scope
		for _, w := range of.told {
			r.retell(w)
		}
	}
	r.pass(2 * days)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range tales {
		for _, w := range of.told {
			if most := 1; r.sent[w.id] > most || w.kind != "certificate" && r.sent[w.id] < 1 {
				r.t.Errorf("%s %s of %s was done %d times", w.kind, w.id, w.due, r.sent[w.id])
			}
		}
	}
}

// step goes on with a tale: something is wished for, or again, or nothing happens.
func (r *retelling) step(of *tale) {
	r.scope = of.scope
	switch pick := r.rng.IntN(10); {
	case pick < 3:
		of.told = append(of.told, r.wish(fmt.Sprint(of.scope, "-", len(of.told))))
	case pick < 7 && len(of.told) > 0:
		r.retell(of.told[r.rng.IntN(len(of.told))])
	}
}

// wish asks for something new.
func (r *retelling) wish(id string) wish {
	kinds := []string{"welcome", "trial", "message", "export", "certificate", "survey"}
	w := wish{kind: kinds[r.rng.IntN(len(kinds))], id: id, due: r.clk.Now().Add(time.Minute)}
	if r.rng.IntN(3) == 0 {
		w.due = w.due.Add(time.Duration(r.rng.IntN(50)) * days)
	}
	switch w.kind {
	case "certificate":
		w.due = w.due.Add(days)
	case "survey":
		w.due = r.clk.Now()
	case "trial":
		w.horizon = 59 * days
	}
	if w.kind != "export" && r.rng.IntN(4) == 0 {
		r.mu.Lock()
		r.refused[w.id] = true
		r.mu.Unlock()
	}
	if got := r.ask(w, "hello"); got != storage.Created {
		r.t.Errorf("%s %s is %s", w.kind, w.id, got)
	}
	return w
}

// retell asks for a wish again, and now and then for another under its key.
func (r *retelling) retell(w wish) {
	r.t.Helper()
	if w.horizon > 0 && r.clk.Now().After(w.due.Add(w.horizon)) {
		return
	}
	if w.kind != "export" && w.kind != "certificate" && w.kind != "survey" && r.rng.IntN(3) == 0 {
		if got := r.ask(w, "good-bye"); got != storage.Conflict {
			r.t.Errorf("another %s %s is %s", w.kind, w.id, got)
		}
		return
	}
	got := r.ask(w, "hello")
	if ok := got == storage.Unchanged || w.kind == "certificate" && got == causes.OffsetPassed; !ok {
		r.t.Errorf("%s %s is %s on %s", w.kind, w.id, got, r.clk.Now())
	}
}

// Random wishes are told and told again while old rows are forgotten: none is done
// twice, none is lost, and each gets the answer that it would have got.
func TestI4_NothingIsDoneAgainSinceItWasForgotten(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		const seed, beside = 22, 20
		rounds := 2 // each is months of polls
		switch _, quick := store.(*memory.Store); {
		case testlevel.Has(t, testlevel.Nightly):
			rounds = 100
		case quick:
			rounds = 20
		}
		t.Logf("seed %d, %d rounds of %d stories", seed, rounds, beside)
		r := newRetelling(t, store, clk, seed)
		for n := 0; n < rounds && !t.Failed(); n++ {
			r.tell(beside)
		}
		r.forgot()
	})
}

// forgot fails the test if nothing was forgotten, so that it shows nothing.
func (r *retelling) forgot() {
	r.t.Helper()
	h, err := r.poller.Health(r.t.Context(), storage.Everywhere())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, table := range h.Retention {
		for _, name := range []string{"notification_job", "survey_instance", "survey_response"} {
			if table.Table == name && table.AnnouncedOn.IsZero() {
				r.t.Errorf("nothing of %s was forgotten", name)
			}
		}
	}
}

// A process dies at each moment of forgetting: whoever comes next goes on, nothing is
// forgotten half, and nothing is sent again.
func TestI5_ACrashInTheMiddleOfForgetting(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, inner storage.Store, clk *clock.Mock) {
		spy := &storetest.Spy{Store: inner}
		opts := belfry.Options{Retention: belfry.Retention{Messages: 30 * days, Inbox: 30 * days}}
		f := newForgetter(t, spy, clk, opts)
		const n = sweep.Page + 50
		f.many(n)
		f.pass(1)
		f.mails.Sent(t, n)
		clk.Add(30 * days)
		died, crash := 0, errors.New("killed")
		for range 2 { // the jobs go first, then what they led to
			f.pass(1) // announced
			clk.Add(7 * days)
			for at := 1; at <= 25; at++ {
				seen, forgetting := 0, false
				spy.SetHook(func(c storetest.Call) error {
					forgetting = forgetting || c.Table == "retention"
					if !forgetting {
						return nil
					}
					switch c.Verb {
					case storetest.Begin, storetest.Commit, storetest.Committed, storetest.Delete, storetest.Update:
						if seen++; seen == at {
							died++
						}
						if seen >= at {
							return crash // it is dead
						}
					}
					return nil
				})
				next := newForgetter(t, spy, clk, opts)
				clk.Add(20 * time.Minute)
				if err := next.poller.Drain(t.Context()); err != nil && !errors.Is(err, crash) {
					t.Fatal(err)
				}
				spy.SetHook(nil)
				f.whole(n)
			}
			f.pass(2)
		}
		if died < 20 {
			t.Errorf("it died %d times", died)
		}
		f.pass(12)
		for table, stubs := range map[string]int{"notification_job": n, "notification_scheduler": 0, "outgoing_message": 0, "user_message": 0} {
			if whole, left := f.rows(table); whole != 0 || left != stubs {
				t.Errorf("%s: %d rows and %d stubs are left", table, whole, left)
			}
		}
		if created := f.many(n); created != 0 {
			t.Errorf("%d jobs are new", created)
		}
		f.pass(1)
		f.mails.Sent(t, n)
	})
}

// many asks for n jobs and their schedules, and says how many jobs are new.
func (f *forgetter) many(n int) (created int) {
	f.t.Helper()
	jobs, schedules := make([]notify.Job, n), make([]notify.Schedule, n)
	for i := range jobs {
		who := fmt.Sprint("person-", i)
		jobs[i] = notify.Job{
			Type: "welcome", PartitionKey: who, RowKey: "welcome-" + who,
			Recipients: []notify.Recipient{{Ref: who, Channel: "email:test", Address: who + "@example.com", Inbox: "user:" + who}},
		}
		schedules[i] = notify.ScheduleFor(jobs[i], time.Time{})
	}
	made, err := f.out.EnsureNotificationJob(f.t.Context(), nil, jobs...)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.out.EnsureNotificationScheduler(f.t.Context(), nil, schedules...); err != nil {
		f.t.Fatal(err)
	}
	for _, m := range made {
		if m.Outcome == storage.Created {
			created++
		}
	}
	return created
}

// whole fails the test if a job is gone, or a message without its job's stub.
func (f *forgetter) whole(n int) {
	f.t.Helper()
	whole, stubs := f.rows("notification_job")
	if whole+stubs != n {
		f.t.Fatalf("%d jobs and %d stubs of %d", whole, stubs, n)
	}
	if messages, _ := f.rows("outgoing_message"); messages < whole {
		f.t.Fatalf("%d messages of %d jobs that are whole", messages, whole)
	}
}
