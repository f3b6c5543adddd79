package notify_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// shelf is a catalogue by business unit.
type shelf struct {
	units map[string]notify.NotificationOption
	asked int
	fail  error
}

func (s *shelf) Options(_ context.Context, asked []notify.Question) ([]notify.NotificationOption, error) {
	s.asked++
	out := make([]notify.NotificationOption, len(asked))
	for i, q := range asked {
		out[i] = s.units[q.BusinessUnit]
	}
	return out, s.fail
}

// shelves runs a story on every adapter with a host that has a catalogue.
func shelves(t *testing.T, units map[string]notify.NotificationOption, story func(h *host, s *shelf)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		p, s := &provider{}, &shelf{units: units}
		h := &host{Notifier: notify.New(store, &notify.Options{Logger: quiet, Catalogue: s}, p), store: store, t: t, clk: clk, provider: p}
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		story(h, s)
	})
}

func (h *host) in(unit, id string, people ...notify.Recipient) {
	h.t.Helper()
	j := visit(id, people...)
	j.BusinessUnit = unit
	h.dispatch(j)
}

// to are the names of those who were sent something.
func (h *host) to() (names []string) {
	for _, m := range h.sent() {
		names = append(names, m.Name)
	}
	return names
}

// Communication - Codebase flow, "What Notification Settings control": types that
// are not seeded, or have no subscriber, are skipped gracefully.
//
//spec:a-060 f-003 f-039 f-041 n-012
func TestWhatNobodyWantsIsSkippedWithAReason(t *testing.T) {
	units := map[string]notify.NotificationOption{"off": {Seeded: true}, "lonely": {Seeded: true, Enabled: true}}
	shelves(t, units, func(h *host, _ *shelf) {
		h.in("unknown", "1", person("sam"))
		h.in("off", "2", person("sam"))
		h.in("lonely", "3")
		h.in("lonely", "4", person("kim")) // names somebody, so it needs no subscriber
		h.drain()
		h.same("sent", []string{"kim"}, h.to())
		got := map[string]string{}
		for i := range 4 {
			trace, err := h.Trace(h.t.Context(), "tenant", coordinates(visit(fmt.Sprint(i+1))))
			if err != nil {
				h.t.Fatal(err)
			}
			got[trace.Job.Entity] = trace.Job.Status + " " + trace.Job.ReasonCode + ", " + trace.Schedules[0].Status
		}
		h.same("jobs", map[string]string{
			"1": "Skipped NotSeeded, Skipped", "2": "Skipped Disabled, Skipped",
			"3": "Skipped NoSubscribers, Skipped", "4": "Generated , Dispatched",
		}, got)
	})
}

func coordinates(j notify.Job) notify.Coordinates { return j.Coordinates() }

//spec:f-017 f-040
func TestSubscribersHearBesideThoseWhomTheJobNames(t *testing.T) {
	subscribed := notify.NotificationOption{Seeded: true, Enabled: true, Subscribers: []notify.Recipient{person("boss"), person("sam")}}
	shelves(t, map[string]notify.NotificationOption{"north": subscribed}, func(h *host, s *shelf) {
		h.in("north", "1", person("sam"))
		h.in("north", "2")
		h.drain()
		count := map[string]int{}
		for _, name := range h.to() {
			count[name]++
		}
		h.same("sent", map[string]int{"boss": 2, "sam": 2}, count)
		if s.asked > 2 {
			h.t.Errorf("the catalogue was asked %d times for two passes", s.asked)
		}
	})
}

// Whom a job is for is decided once: a repeat of the generator asks nobody.
//
//spec:f-017
func TestSubscribersAreFrozenByTheFirstRun(t *testing.T) {
	units := map[string]notify.NotificationOption{"north": {Seeded: true, Enabled: true, Subscribers: []notify.Recipient{person("sam")}}}
	shelves(t, units, func(h *host, s *shelf) {
		h.in("north", "1")
		h.drain()
		s.units = map[string]notify.NotificationOption{"north": {Seeded: true, Enabled: true, Subscribers: []notify.Recipient{person("kim")}}}
		h.regenerate()
		h.drain()
		h.same("sent", []string{"sam"}, h.to())
	})
}

//spec:f-003
func TestACatalogueThatFailsIsAskedAgain(t *testing.T) {
	units := map[string]notify.NotificationOption{"north": {Seeded: true, Enabled: true}}
	shelves(t, units, func(h *host, s *shelf) {
		s.fail = errors.New("away")
		h.in("north", "1", person("sam"))
		h.drain()
		h.same("sent", 0, len(h.sent()))
		s.fail = nil
		h.clk.Add(6 * time.Minute)
		h.drain()
		h.same("sent", []string{"sam"}, h.to())
	})
}
