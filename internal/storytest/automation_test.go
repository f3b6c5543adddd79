package storytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// certificates is what a host knows: when each certificate expires.
type certificates map[string]automation.Date

func (certificates) EventTypes() []string { return []string{"certificate-changed"} }

func (c certificates) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return automation.Each(of, func(r automation.Request) (a automation.Answer, err error) {
		for _, days := range []int{30, 7} {
			a.Candidates = append(a.Candidates, automation.Candidate{TargetDate: c[r.Source.ID], DaysBefore: days})
		}
		return a, nil
	})
}

// office is a process that reminds.
func (w *world) office(store storage.Store, known certificates) (*automation.Scheduler, *notify.Notifier) {
	out := notify.New(store, &notify.Options{Logger: quiet}, telling{&w.provider})
	s := automation.New(store, out, nil)
	t := automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC",
		Template: notify.Template{Subject: "{{.TargetDate}}"},
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: d.Source.ID, Channel: channelKey, Address: d.Source.ID + "@example.com"}}, nil
		}),
	}
	if known != nil { // else reminders are asked for by hand
		t.Triggers = known
	}
	s.Register(t)
	return s, out
}

func expiring(id string, day int) automation.Candidate {
	return automation.Candidate{
		Type: "certificate", Source: automation.Source{Type: "employee", ID: id},
		TargetDate: automation.Date{Year: 2026, Month: 3, Day: day},
	}
}

// I-8: whichever transaction a process dies in, another one sends the reminder,
// and nobody gets it twice; where the call had begun, the provider is asked.
func TestAReminderOutlivesTheProcessThatDied(t *testing.T) {
	each(t, func(w *world) {
		s, out := w.office(w.store, nil)
		var want []string
		interrupted := 0
		for death, survived := 1, false; !survived; death++ {
			due := storetest.Start.AddDate(0, 0, death).Truncate(24 * time.Hour).Add(9 * time.Hour)
			c := automation.Candidate{
				Type: "certificate", Source: automation.Source{Type: "employee", ID: fmt.Sprint("emp", death)},
				TargetDate: automation.Date{Year: due.Year(), Month: due.Month(), Day: due.Day()},
			}
			if got, err := s.Ensure(w.Context(), c); err != nil || got[0].Outcome != storage.Created {
				w.Fatal(got, err)
			}
			w.clk.Set(due)
			dying := newMortal(w.store, death)
			inProcess, itsOut := w.office(dying.Spy, nil)
			w.killed(dying.Spy, inProcess, itsOut)
			survived = !dying.isDead()
			if !survived && len(w.ids) == death {
				interrupted++
			}
			for range 2 { // then what is in doubt is asked about
				w.clk.Add(lease)
				w.drain(s, out)
			}
			want = append(want, fmt.Sprintf("%s to %s@example.com", due.Format(time.DateOnly), c.Source.ID))
			w.wantSent(want...)
		}
		if len(w.ids) != len(want) || interrupted == 0 {
			w.Errorf("%d calls for %d reminders, %d of them by processes that died", len(w.ids), len(want), interrupted)
		}
		for range 30 { // however often the provider is asked
			w.clk.Add(24 * time.Hour)
			w.drain(s, out)
		}
		if held, _, err := out.Support().Held(w.Context(), "", reasons.OutcomeUnknown, storage.Page{}); err != nil || len(held) != 0 {
			w.Errorf("%d messages wait for a person: %v", len(held), err)
		}
	})
}

// A certificate is renewed after the first of its reminders has gone out: the
// second goes with the old date, and support can read why.
func TestAChangeOnTheWayEndsTheOldReminders(t *testing.T) {
	each(t, func(w *world) {
		known := certificates{"sam": {Year: 2026, Month: 4, Day: 10}}
		s, out := w.office(w.store, known)
		event := automation.Event{ID: "e1", Type: "certificate-changed", Source: automation.Source{Type: "employee", ID: "sam"}, Version: 1}
		first, err := s.HandleEvent(w.Context(), event)
		if err != nil || len(first.Ensured) != 2 {
			w.Fatal(first, err)
		}
		w.clk.Set(time.Date(2026, 3, 11, 9, 0, 0, 0, time.UTC))
		w.drain(s, out)
		w.wantSent("2026-04-10 to sam@example.com")

		known["sam"] = automation.Date{Year: 2028, Month: 4, Day: 10}
		event.ID, event.Version = "e2", 2
		renewed, err := s.HandleEvent(w.Context(), event)
		if err != nil || len(renewed.Deactivated) != 1 || renewed.Deactivated[0].Key != first.Ensured[1].Key {
			w.Fatal(renewed, err)
		}
		w.clk.Set(time.Date(2026, 4, 10, 9, 0, 0, 0, time.UTC))
		w.drain(s, out)
		w.wantSent("2026-04-10 to sam@example.com")
		story, err := s.Explain(w.Context(), "", first.Ensured[1].Key)
		if err != nil || !strings.Contains(story.String(), "Superseded") {
			w.Error(story, err)
		}

		w.clk.Set(time.Date(2028, 4, 10, 9, 0, 0, 0, time.UTC)) // after a long sleep
		w.drain(s, out)
		w.wantSent("2026-04-10 to sam@example.com", "2028-04-10 to sam@example.com", "2028-04-10 to sam@example.com")
	})
}

// What the host takes back was never said; what it says twice is said once; what
// it ends is not sent.
func TestAReminderLivesAndDiesWithTheHostsTransaction(t *testing.T) {
	each(t, func(w *world) {
		s, out := w.office(w.store, nil)
		takenBack := errors.New("the employee could not be saved")
		err := w.store.InTx(w.Context(), func(tx storage.Tx) error {
			if _, err := s.WithTx(tx).Ensure(w.Context(), expiring("ann", 2), expiring("sam", 2), expiring("eve", 2)); err != nil {
				return err
			}
			return takenBack
		})
		if !errors.Is(err, takenBack) {
			w.Fatal(err)
		}
		for _, want := range []storage.Outcome{storage.Created, storage.Unchanged} {
			got, err := s.Ensure(w.Context(), expiring("sam", 2), expiring("eve", 2))
			if err != nil || got[0].Outcome != want || got[1].Outcome != want {
				w.Fatal(got, err)
			}
		}
		ended, err := s.Deactivate(w.Context(), "", "certificate", automation.Source{Type: "employee", ID: "eve"}, "Left")
		if err != nil || len(ended) != 1 {
			w.Fatal(ended, err)
		}
		w.clk.Set(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC))
		w.drain(s, out)
		w.wantSent("2026-03-02 to sam@example.com")
	})
}
