package automation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
)

// Whatever becomes of a series, in whatever order: its cadence, time of day and zone move, it
// is stopped and begins again, support cancels and holds occurrences, days pass without a
// process. No two that went out or were stopped are of one date, and the one that runs is the
// first of the cadence that none of those is of.
func TestADateHasOneOccurrenceWhateverHappens(t *testing.T) {
	t.Parallel()
	stories := map[testlevel.Level]int{testlevel.Quick: 100, testlevel.Check: 300, testlevel.Nightly: 20_000}[testlevel.Of(t)]
	for n := range stories {
		clk := clock.NewMock()
		clk.Set(start)
		w := newPeriodStory(t, openMemory(t, clk), clk, n)
		for range 40 {
			w.step()
			if w.look(); t.Failed() {
				t.Fatalf("story %d:\n%s\n%s", n, strings.Join(w.said, "\n"), strings.Join(w.short(), "\n"))
			}
		}
	}
}

type periodStory struct {
	*world
	dice          *rand.Rand
	p             *triggers
	version       int64
	hours         string
	days, zone    string
	zoned, halted bool // some zone was another than UTC; it asks for nothing
	said          []string
}

func newPeriodStory(t *testing.T, store storage.Store, clk *clock.Mock, n int) *periodStory {
	w := newWorld(t, store, clk, nil)
	s := &periodStory{world: w, dice: rand.New(rand.NewPCG(7, uint64(n))), p: w.withTriggers(nil), hours: "9", days: "*", zone: "UTC"}
	s.tell("begins")
	return s
}

func (w *periodStory) among(of ...string) string { return of[w.dice.IntN(len(of))] }

func (w *periodStory) say(format string, args ...any) {
	w.said = append(w.said, w.clk.Now().Format("01-02T15:04 ")+fmt.Sprintf(format, args...))
}

func (w *periodStory) tell(what string) {
	w.version++
	c := cron("0 " + w.hours + " * * " + w.days)
	c.Zone = w.zone
	w.say("%s: %s of %s in %s", what, w.hours, w.days, w.zone)
	w.p.set(c)
	if w.halted {
		w.p.set()
	}
	w.handle(changed(w.version))
}

func (w *periodStory) step() {
	switch w.dice.IntN(8) {
	case 0:
		w.hours = w.among("7", "9", "10", "18")
		w.tell("its time")
	case 1:
		w.days = w.among("*", "*", "MON", "MON,THU")
		w.tell("its days")
	case 2:
		if w.zone = w.among("UTC", "UTC", "Asia/Tokyo", "America/New_York"); w.zone != "UTC" {
			w.zoned = true
		}
		w.tell("its zone")
	case 3:
		w.halted = !w.halted
		w.tell(fmt.Sprint("halted ", w.halted))
	case 4:
		for key, row := range w.rows() {
			if row.Status == automation.StatusPending && !row.IsOnSupportHold {
				act := w.s.Support().Cancel
				if w.dice.IntN(2) == 0 {
					act = w.s.Support().Hold
				}
				w.must(act(w.ctx, "", key, ann))
				w.say("stopped %s", key)
			}
		}
	default:
		w.clk.Add(time.Duration(1+w.dice.IntN(30)) * time.Hour)
		if w.dice.IntN(4) > 0 {
			w.runAll()
			w.say("ran")
		}
	}
}

func (w *periodStory) look() {
	had, running := []string{}, []automation.ScheduleRow{}
	for _, row := range w.rows() {
		switch {
		case row.IsOnSupportHold, row.Status == automation.StatusCompleted:
			had = append(had, row.TargetDate)
		case row.IsOpen():
			running = append(running, row)
		}
	}
	slices.Sort(had)
	if once := slices.Compact(slices.Clone(had)); len(once) != len(had) {
		w.t.Errorf("dates: %v", had)
	}
	switch {
	case w.halted && len(running) > 0, !w.halted && len(running) != 1:
		w.t.Errorf("%d run", len(running))
	case w.halted || w.zoned || !running[0].ScheduledOn.After(w.clk.Now()):
	default:
		if want := w.first(had); !running[0].ScheduledOn.Equal(want) {
			w.t.Errorf("%s runs, not %s", running[0].ScheduledOn, want)
		}
	}
}

// first is the next moment of a cadence in UTC, on a date that none was of.
func (w *periodStory) first(had []string) time.Time {
	var hour int
	_, _ = fmt.Sscan(w.hours, &hour)
	for d := w.clk.Now().Truncate(24 * time.Hour); ; d = d.AddDate(0, 0, 1) {
		on := d.Add(time.Duration(hour) * time.Hour)
		meant := w.days == "*" || strings.Contains(w.days, strings.ToUpper(d.Weekday().String()[:3]))
		if meant && on.After(w.clk.Now()) && !slices.Contains(had, d.Format(time.DateOnly)) {
			return on
		}
	}
}
