package chaostest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// The work that moves from an old scheduler: visits, each at a moment of its own,
// of some business units; and rounds, which recur every hour.
const (
	units     = 5
	rounds    = 12 // series
	unitName  = "unit%d"
	roundName = "round%02d"
)

// calendar is what both sides know: the moments of all runs.
type calendar struct {
	begin  time.Time
	visits int
	span   time.Duration // from begin on, in which the visits are spread
}

// occasion is a run as the old scheduler knows it.
type occasion struct {
	key, kind, unit string
	at              time.Time
}

func (c calendar) visitAt(i int) time.Time {
	return c.begin.Add(time.Duration(i) * c.span / time.Duration(c.visits)).Truncate(time.Minute)
}

// candidates are the runs as Belfry is told of them.
func (c calendar) candidates() []automation.Candidate {
	var out []automation.Candidate
	for i := range c.visits {
		at := c.visitAt(i)
		out = append(out, automation.Candidate{
			Type: "visit", Source: automation.Source{Type: "car", ID: fmt.Sprintf("car%04d", i)},
			BusinessUnit: fmt.Sprintf(unitName, i%units), TargetDate: day(at), SendAt: at.Format("15:04"), Zone: "UTC",
		})
	}
	for i := range rounds {
		out = append(out, automation.Candidate{
			Type: "round", Source: automation.Source{Type: "guard", ID: fmt.Sprintf(roundName, i)},
			Recurrence: &automation.Recurrence{Cron: fmt.Sprintf("%d * * * *", i*60/rounds)}, Zone: "UTC",
		})
	}
	return out
}

func day(at time.Time) (d automation.Date) {
	d.Year, d.Month, d.Day = at.Date()
	return d
}

// occasions are the runs with the keys that the old scheduler builds for them.
func (c calendar) occasions() []occasion {
	var out []occasion
	for i := range c.visits {
		at := c.visitAt(i)
		key, err := keys.Reminder{
			Setting: "visit", SourceType: "car", Source: fmt.Sprintf("car%04d", i),
			TriggerKey: "default", TargetDate: at.Format(time.DateOnly),
		}.Key()
		must(err)
		out = append(out, occasion{key, "visit", fmt.Sprintf(unitName, i%units), at})
	}
	for i := range rounds {
		first := c.begin.Truncate(time.Hour).Add(time.Duration(i*60/rounds) * time.Minute)
		for at := first; at.Before(c.begin.Add(c.span)); at = at.Add(time.Hour) {
			if at.After(c.begin) {
				key, err := keys.Recurring{
					Setting: "round", SourceType: "guard", Source: fmt.Sprintf(roundName, i), TriggerKey: "default", Occurrence: at,
				}.Key()
				must(err)
				out = append(out, occasion{key, "round", "", at})
			}
		}
	}
	return out
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// parts are what moves on its own: units, visits of two cars, some series
// and the other series.
func parts() []automation.RolloutPart {
	var out []automation.RolloutPart
	for i := range units {
		out = append(out, automation.RolloutPart{Type: "visit", BusinessUnit: fmt.Sprintf(unitName, i)})
	}
	for i := range 2 {
		out = append(out, automation.RolloutPart{Type: "visit", Source: fmt.Sprintf("car%04d", 100+i)})
	}
	for i := range 5 {
		out = append(out, automation.RolloutPart{Type: "round", Source: fmt.Sprintf(roundName, i)})
	}
	return append(out, automation.RolloutPart{Type: "round"})
}

// guarded is the host's program: both types are under the ownership guard, and each
// run calls an address of its own.
func guarded(store storage.Store, provider string) (*automation.Scheduler, *notify.Notifier) {
	out := notify.New(store, nil, &client{url: provider})
	reminders := automation.New(store, out, nil)
	for _, name := range []string{"visit", "round"} {
		reminders.Register(automation.ReminderType{
			Name: name, Guarded: true,
			Template: notify.Template{Subject: "It is time"},
			Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
				return []notify.Recipient{person(addressee(d.Key))}, nil
			}),
		})
	}
	return reminders, out
}

// addressee is the person that a run is for.
func addressee(key string) string {
	parsed, err := keys.Parse(key)
	must(err)
	if r, ok := parsed.(keys.Recurring); ok {
		return fmt.Sprintf("%s.%d", r.Source, r.Occurrence.Unix())
	}
	return parsed.(keys.Reminder).Source
}

var mover = automation.By{Actor: "mover", Reason: "the roll-out"}

// moving is a process that moves parts on and back, has support pick and give back
// single runs, and says again what the host wants.
type moving struct {
	reminders *automation.Scheduler
	rnd       *rand.Rand
	wants     []automation.Candidate
	runs      []occasion
}

// run goes on until alive ends. What is refused, or comes too late, is: all that
// counts is what became of the runs.
func (m *moving) run(ctx context.Context, alive <-chan struct{}) {
	all := parts()
	for {
		switch m.rnd.IntN(8) {
		case 0:
			from := m.rnd.IntN(len(m.wants))
			_, _ = m.reminders.Ensure(ctx, m.wants[from:min(from+20, len(m.wants))]...)
		case 1:
			to := []automation.Owner{automation.OldScheduler, automation.AutomationScheduler}[m.rnd.IntN(2)]
			_ = m.reminders.Rollout().TransferOwnership(ctx, "", m.runs[m.rnd.IntN(len(m.runs))].key, to, mover)
		default:
			m.move(ctx, all[m.rnd.IntN(len(all))])
		}
		select {
		case <-alive:
			return
		case <-clock.New().After(5 * time.Millisecond):
		}
	}
}

// move moves a part a step on, or back by any number.
func (m *moving) move(ctx context.Context, part automation.RolloutPart) {
	dry, err := m.reminders.Rollout().MoveRollout(ctx, part, automation.StageDesign, mover, &automation.ActionOptions{DryRun: true})
	if err != nil {
		return
	}
	to := min(dry.From+1, automation.StageCutOver)
	if m.rnd.IntN(6) == 0 {
		to = automation.Stage(m.rnd.IntN(int(dry.From) + 1))
	}
	_, _ = m.reminders.Rollout().MoveRollout(ctx, part, to, mover, nil)
}
