package automation_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// oneStory repeats a story by its number, on memory.
var oneStory = flag.Int("wishstory", -1, "the story of TestOpenRowsAreWhatIsWantedNow to play")

// Whatever changes, and in whatever order: at each instant the open rows are what the
// sources and settings of now ask for, but for what already went out; and each went out
// once. Sources move, in date, hour, unit and version, come and go; settings change their
// offsets, hours, cadence and whether they are on; zones of units change; events come
// late; nothing runs for days; processes start again. In every third story an old scheduler
// does the work at first: parts are handed over and back, and each run is done by the side
// that has it. Number n is always the same story.
func TestOpenRowsAreWhatIsWantedNow(t *testing.T) {
	t.Parallel()
	if *oneStory >= 0 {
		playWishes(t, openMemory, []int{*oneStory})
		return
	}
	stories := map[testlevel.Level]int{testlevel.Quick: 100, testlevel.Check: 100, testlevel.Nightly: 200_000}[testlevel.Of(t)]
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		const first = 100
		play := func(name string, from, to, by int) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var of []int
				for n := from; n < to; n += by {
					of = append(of, n)
				}
				playWishes(t, openMemory, of)
			})
		}
		play("first", 0, first, 1)
		for shard := range 4 {
			play(fmt.Sprint(shard), first+shard, stories, 4)
		}
	})
	for name, open := range map[string]func(testing.TB, clock.Clock) storage.Store{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testlevel.Need(t, testlevel.Nightly)
			var of []int
			for n := range 200 {
				of = append(of, n)
			}
			var store storage.Store
			playWishes(t, func(t testing.TB, clk clock.Clock) storage.Store {
				if store == nil {
					store = open(t, clk)
				}
				return store
			}, of)
		})
	}
}

func openMemory(_ testing.TB, clk clock.Clock) storage.Store {
	return memory.New(&memory.Options{Clock: clk})
}

// playWishes plays stories one after the other, until one goes wrong.
func playWishes(t *testing.T, open func(testing.TB, clock.Clock) storage.Store, stories []int) {
	t.Helper()
	clk := newHandClock()
	var steps atomic.Int64
	for _, n := range stories {
		clk.set(start)
		w := newWishWorld(t.Context(), open(t, clk), clk, n)
		for range 20 + w.dice.IntN(20) {
			w.step()
			w.look()
			steps.Add(1)
			if len(w.wrong) > 0 {
				t.Fatalf("story %d (repeat it with -wishstory %d):\n%s\n%s", n, n, strings.Join(w.said, "\n"), strings.Join(w.wrong, "\n"))
			}
		}
	}
	t.Logf("%d stories of %d steps", len(stories), steps.Load())
}

// wishRule is the setting of a type.
type wishRule struct {
	off     bool
	days    []int
	hour    int // of what falls days before
	before  []time.Duration
	cadence string // empty: nothing recurs
}

// wisher is a source: it has a day, which is an instant as well, a unit and a version.
type wisher struct {
	at      time.Time
	unit    string
	gone    bool
	version int64 // zero: without versions
}

// wishModel is what should be: what is open, and what has been. It knows nothing of rows.
type wishModel struct {
	lateness automation.Lateness
	open     map[string]time.Time // by key: the moment
	sent     map[string]bool
	over     map[string]bool      // overtaken
	untrue   map[string]time.Time // from when on it is not made: the day, or the instant, that it is before
	ours     func(key string) bool
	old      map[string]bool // what is open and the old scheduler's
}

// ask compares what is open of one source and type with what it wants now.
func (m *wishModel) ask(now time.Time, prefix string, wanted map[string]time.Time) {
	maps.DeleteFunc(m.open, func(key string, _ time.Time) bool {
		_, still := wanted[key]
		return strings.HasPrefix(key, prefix) && !still
	})
	for key, moment := range wanted {
		_, open := m.open[key]
		if !open && (m.sent[key] || m.over[key] || m.isUntrue(now, key) || !m.worth(now.Sub(moment), false, m.laterOf(now, key, moment, wanted))) {
			continue
		}
		m.open[key] = moment
		m.old[key] = m.old[key] && open && (!m.ours(key) || !moment.After(now)) || !open && !m.ours(key)
	}
}

// hand gives what is open of a type to the side that has it now. What has come stays with
// the old scheduler, which may have it in hand.
func (m *wishModel) hand(now time.Time, prefix string) {
	for key, moment := range m.open {
		if strings.HasPrefix(key, prefix) {
			m.old[key] = !m.ours(key) || m.old[key] && !moment.After(now)
		}
	}
}

// work is what a process does when it runs.
func (m *wishModel) work(now time.Time) {
	before := maps.Clone(m.open)
	for key, moment := range before {
		late := now.Sub(moment)
		if late < 0 || recursIn(key) || m.old[key] {
			continue
		}
		overtaken := m.laterOf(now, key, moment, before)
		switch {
		case m.worth(late, true, overtaken):
			m.sent[key] = true
		case m.worth(late, true, false):
			m.over[key] = true
		}
		delete(m.open, key)
	}
}

func (m *wishModel) isUntrue(now time.Time, key string) bool {
	from, before := m.untrue[key]
	return before && !now.Before(from)
}

func (m *wishModel) worth(late time.Duration, open, overtaken bool) bool {
	return (m.lateness.Window == 0 || late <= m.lateness.Window) && (open || late <= m.lateness.CatchUp) && (!m.lateness.OnlyLatest || !overtaken)
}

// laterOf reports whether another one of the same source and type has come later.
func (m *wishModel) laterOf(now time.Time, key string, moment time.Time, among map[string]time.Time) bool {
	for other, on := range among {
		if sameOccasion(key, other) && on.After(moment) && !on.After(now) {
			return true
		}
	}
	return false
}

// recursIn reports whether a key is that of an occurrence, which have no others beside
// them.
func recursIn(key string) bool { return strings.Contains(key, ":recurring:") }

func sameOccasion(a, b string) bool {
	return !recursIn(a) && !recursIn(b) && slices.Equal(strings.Split(a, ":")[:5], strings.Split(b, ":")[:5])
}

// occurrences are the moments of a cadence behind one, up to another: at nine in UTC.
func occurrences(cadence string, after, to time.Time) (out []time.Time) {
	on := map[string][]time.Weekday{"MON": {time.Monday}, "MON,THU": {time.Monday, time.Thursday}, "*": {0, 1, 2, 3, 4, 5, 6}}[cadence]
	for d := time.Date(after.Year(), after.Month(), after.Day(), 9, 0, 0, 0, time.UTC); !d.After(to); d = d.AddDate(0, 0, 1) {
		if d.After(after) && slices.Contains(on, d.Weekday()) {
			out = append(out, d)
		}
	}
	return out
}

// series moves the occurrences of the open series on: those that are worth it go out,
// one after the other.
func (m *wishModel) series(now time.Time, cadence func(key string) string) {
	for key, on := range maps.Clone(m.open) {
		if !recursIn(key) || on.After(now) {
			continue
		}
		prefix, _, _ := strings.Cut(key, ":recurring:")
		rule := cadence(key)
		due := append([]time.Time{on}, occurrences(rule, on, now)...)
		for i, on := range due {
			if m.worth(now.Sub(on), true, i < len(due)-1) {
				m.sent[occurrenceKey(prefix, on)] = true
			}
		}
		delete(m.open, key)
		next := occurrences(rule, now, now.AddDate(0, 0, 8))[0]
		m.open[occurrenceKey(prefix, next)] = next
	}
}

// occurrenceKey is the key of an occurrence. What keys of series are made of is known
// here only.
func occurrenceKey(prefix string, on time.Time) string {
	return prefix + ":recurring:" + on.UTC().Format("2006-01-02T15:04:05Z")
}

// wishWorld is a story under way.
type wishWorld struct {
	wishModel
	ctx   context.Context
	clk   *handClock
	store storage.Store
	scope automation.Scope
	dice  *rand.Rand
	s     *automation.Scheduler

	exams, buses string // the types: the one is spoken for by Set, the other by events
	rules        map[string]*wishRule
	pupil        map[string]*wisher
	zones        map[string]string        // of units
	inForce      map[string]string        // the cadence of each series
	stage        map[string]cutover.Stage // of types; empty: there is no old scheduler
	told         []automation.Event
	scanned      bool           // events about buses are lost, but for those who leave
	out          map[string]int // what was dispatched

	said, wrong []string
}

func newWishWorld(ctx context.Context, store storage.Store, clk *handClock, n int) *wishWorld {
	w := &wishWorld{
		ctx: ctx, clk: clk, store: store, scope: automation.Scope(fmt.Sprint("story", n)), dice: rand.New(rand.NewPCG(19, uint64(n))),
		exams: fmt.Sprint("exam", n), buses: fmt.Sprint("bus", n),
		pupil: map[string]*wisher{}, zones: map[string]string{"dublin": "Europe/Dublin", "cork": "Europe/Dublin"}, inForce: map[string]string{}, out: map[string]int{},
	}
	w.wishModel = wishModel{open: map[string]time.Time{}, sent: map[string]bool{}, over: map[string]bool{}, untrue: map[string]time.Time{}, lateness: automation.Lateness{
		CatchUp: pick(w, time.Hour, 24*time.Hour, 30*24*time.Hour), Window: pick(w, 0, 0, 12*time.Hour), OnlyLatest: pick(w, false, false, true),
	}, ours: w.isOurs, old: map[string]bool{}}
	if n%3 == 1 {
		w.stage = map[string]cutover.Stage{w.exams: cutover.StageDesign, w.buses: cutover.StageDesign}
		w.lateness.OnlyLatest = false // what overtakes what is not told to an old scheduler
	}
	w.say("lateness %+v", w.lateness)
	w.rules = map[string]*wishRule{
		w.exams: {days: []int{2, 0}, hour: 9},
		w.buses: {days: []int{1}, hour: 8, before: []time.Duration{2 * time.Hour}},
	}
	for _, id := range []string{"ada", "bob", "eve"} {
		w.pupil[id] = &wisher{at: start.Add(time.Duration(w.dice.IntN(9*24*2)) * 30 * time.Minute), unit: "dublin", version: 1}
	}
	w.pupil["eve"].version = 0
	w.restart()
	w.tellAll(w.exams, w.buses)
	return w
}

func pick[T any](w *wishWorld, among ...T) T { return among[w.dice.IntN(len(among))] }

func (w *wishWorld) say(format string, args ...any) {
	w.said = append(w.said, w.clk.Now().Format("01-02T15:04 ")+fmt.Sprintf(format, args...))
}

func (w *wishWorld) must(err error) {
	if err != nil {
		w.wrong = append(w.wrong, err.Error())
	}
}

// look compares the rows with the model.
func (w *wishWorld) look() {
	open, sent, guard := map[string]time.Time{}, map[string]int{}, w.guardOf()
	for key, row := range w.rowsOf() {
		run, guarded := guard[key]
		owned := run == "OldScheduler Owned" || run == "AutomationScheduler Owned"
		if isOpen := row.IsOpen() || row.ReasonCode == reasons.Shadow && run == "OldScheduler Owned"; guarded && isOpen != owned || owned && w.old[key] != (run == "OldScheduler Owned") {
			w.wrong = append(w.wrong, fmt.Sprintf("%s %s %s is %q", key, row.Status, row.ReasonCode, run))
		}
		switch {
		case row.IsOpen(), owned:
			open[key] = row.ScheduledOn
			if p := w.pupil[row.Source]; row.BusinessUnit != p.unit || row.Person != "parent of "+row.Source {
				w.wrong = append(w.wrong, fmt.Sprintf("%s is in %s, about %q", key, row.BusinessUnit, row.Person))
			}
		case row.Status == automation.StatusCompleted, run == "OldScheduler DeliveryCreated":
			sent[key] = 1
		}
	}
	if diff := cmp.Diff(w.open, open); diff != "" {
		w.wrong = append(w.wrong, "open (-wanted +rows): "+diff)
	}
	want := map[string]int{}
	for key := range w.sent {
		want[key] = 1
	}
	for what, got := range map[string]map[string]int{"completed": sent, "dispatched": w.out} {
		if diff := cmp.Diff(want, got); diff != "" {
			w.wrong = append(w.wrong, what+" (-wanted +is): "+diff)
		}
	}
}
