package storytest

import (
	"context"
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

const visits = `{
	"questions": [{"id": "rate", "type": "rating"}],
	"triggers": [{"id": "visits", "enabled": true, "eventKind": "visit-closed", "dedupRecipe": ["templateId", "recipient.address"],
		"schedule": {"initialDelay": "0d", "reminders": ["1d"]}, "channel": "email:test"}]
}`

// garage is a process that asks, and notes of which responses its tickets heard.
func (w *world) garage(store storage.Store, channel channel.Channel, heard map[string]int) *survey.Service {
	out := notify.New(store, &notify.Options{Logger: quiet}, channel)
	s := garageOf(store, out, heard)
	w.senders[s] = out
	return s
}

func garageOf(store storage.Store, out *notify.Notifier, heard map[string]int) *survey.Service {
	s := survey.New(store, out, &survey.Options{SurveyURL: "https://host.example/s/{token}", Logger: quiet})
	s.Subscribe(survey.SubscriberFunc("tickets", func(_ context.Context, e survey.ResponseCompleted) error {
		heard[e.InstancePublicID]++
		return nil
	}))
	return s
}

// visited publishes the survey and tells of a visit of each person.
func (w *world) visited(s *survey.Service, created int, people ...string) (publicIDs []string) {
	w.Helper()
	if _, err := s.Publish(w.Context(), survey.Version{SurveyID: 1, Name: "Visits", Definition: json.RawMessage(visits)}); err != nil {
		w.Fatal(err)
	}
	report, err := s.Ingest(w.Context(), visit(people...))
	if err != nil || report.Created != created || report.Created+report.Skipped != len(people) {
		w.Fatal(report, err)
	}
	for _, item := range report.Items {
		publicIDs = append(publicIDs, item.Instances[0].PublicID)
	}
	return publicIDs
}

func visit(people ...string) survey.Batch {
	b := survey.Batch{EventKind: "visit-closed"}
	for _, p := range people {
		b.Items = append(b.Items, survey.Item{Payload: json.RawMessage("{}"), Recipient: survey.Recipient{Address: p + "@example.com"}})
	}
	return b
}

func (w *world) calls(want int) {
	w.Helper()
	if len(w.accepted) != want {
		w.Errorf("%d mails, want %d: %v", len(w.accepted), want, w.accepted)
	}
}

func (w *world) answers(s *survey.Service, publicID string) {
	w.Helper()
	if _, err := s.Complete(w.Context(), "", publicID, survey.Response{Answers: json.RawMessage(`{"rate": 5}`)}); err != nil {
		w.Fatal(err)
	}
}

// tally counts the links by their states.
func (w *world) tally(s *survey.Service, want map[string]int) {
	w.Helper()
	rows, _, err := s.Support().Instances(w.Context(), "", survey.Selection{SurveyID: 1}, storage.Page{Limit: 1000})
	got := map[string]int{}
	for _, r := range rows {
		got[r.Status]++
	}
	if err != nil || !maps.Equal(got, want) {
		w.Errorf("%v %v, want %v", got, err, want)
	}
}

// An event becomes a link, the link a reminder, the reminder a response, and the
// tickets hear of it once. Events told again are the same events.
func TestAnEventBecomesALinkAReminderAndAResponse(t *testing.T) {
	each(t, func(w *world) {
		heard := map[string]int{}
		s := w.garage(w.store, &w.provider, heard)
		ids := w.visited(s, 2, "sam", "eve")
		w.visited(s, 1, "sam", "eve", "ann")
		w.drain(s)
		w.calls(3)
		w.answers(s, ids[0])
		w.drain(s)
		w.clk.Add(24 * time.Hour)
		w.drain(s)
		w.calls(5) // who has answered is not reminded
		w.answers(s, ids[1])
		w.clk.Add(60 * 24 * time.Hour)
		w.drain(s)
		w.calls(5)
		if len(heard) != 2 || heard[ids[0]] != 1 || heard[ids[1]] != 1 {
			w.Errorf("the tickets heard of %v", heard)
		}
		w.tally(s, map[string]int{survey.StatusCompleted: 2, survey.StatusExpired: 1})
	})
}

// A process dies in the call that sends a link: the provider is asked, the customer
// has one mail, and a reminder as everybody.
func TestALinkInDoubtIsAskedAbout(t *testing.T) {
	each(t, func(w *world) {
		s := w.garage(w.store, telling{&w.provider}, map[string]int{})
		id := w.visited(s, 1, "sam")[0]
		dying := newMortal(w.store, 0)
		w.inCall = dying.kill
		w.killed(dying.Spy, w.garage(dying.Spy, telling{&w.provider}, nil))
		w.inCall = nil
		w.calls(1)
		for range 3 {
			w.clk.Add(lease)
			w.drain(s)
		}
		w.calls(1)
		story, err := s.Support().Explain(w.Context(), "", id)
		if err != nil || len(story.Deliveries) != 2 {
			w.Fatal(story, err)
		}
		if d := story.Deliveries[1]; d.Status != survey.DeliveryDelivered || d.ProviderMessageID != "p-"+w.ids[0] {
			w.Errorf("delivery is %+v", d)
		}
		w.clk.Add(24 * time.Hour)
		w.drain(s)
		w.calls(2)
		w.answers(s, id)
		w.tally(s, map[string]int{survey.StatusCompleted: 1})
	})
}

// A process dies after the customer has answered and before the tickets have
// heard of it: another one tells them.
func TestAResponseOutlivesTheProcessThatTookIt(t *testing.T) {
	each(t, func(w *world) {
		heard := map[string]int{}
		s := w.garage(w.store, &w.provider, heard)
		id := w.visited(s, 1, "sam")[0]
		w.drain(s)
		dying := newMortal(w.store, 2)
		its := w.garage(dying.Spy, &w.provider, map[string]int{})
		w.answers(its, id)
		w.killed(dying.Spy, its)
		if !dying.isDead() {
			w.Fatal("the process lives")
		}
		w.clk.Add(lease)
		w.drain(s)
		if heard[id] != 1 {
			w.Errorf("the tickets heard of %v", heard)
		}
		w.tally(s, map[string]int{survey.StatusCompleted: 1})
	})
}
