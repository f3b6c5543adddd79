package automation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/threshold"
)

// firingStep is a step of a history: what is measured when, and who hears of it.
type firingStep struct {
	about string
	on    time.Time
	lines []line
	fires string // the letters of the policies, S T D F, once for each notification
}

// history is one class under a line that its host moves, and later two rooms.
var history = []firingStep{
	{"below", day(2026, 3, 1, 9), []line{{"10", "5", "room-1", ""}}, ""},
	{"a rise", day(2026, 3, 1, 10), []line{{"10", "10", "room-1", ""}}, "S T D F"},
	{"more of it", day(2026, 3, 1, 11), []line{{"10", "11", "room-1", ""}}, ""},
	{"a fall", day(2026, 3, 1, 12), []line{{"10", "3", "room-1", ""}}, ""},
	{"another rise", day(2026, 3, 1, 13), []line{{"10", "12", "room-1", ""}}, "F"},
	{"the next day", day(2026, 3, 2, 9), []line{{"10.0", "12", "room-1", ""}}, "D"},
	{"another line, not met", day(2026, 3, 2, 10), []line{{"20", "12", "room-1", ""}}, ""},
	{"another line, met", day(2026, 3, 2, 11), []line{{"20", "25", "room-1", ""}}, "T D F"},
	{"another scope beside it", day(2026, 3, 2, 12), []line{{"20", "25", "room-1", ""}, {"20", "30", "room-2", ""}}, "T D F"},
	{"the next day for both", day(2026, 3, 3, 9), []line{{"20", "25", "room-1", ""}, {"20", "30", "room-2", ""}}, "D D"},
	{"the old line, whose fall nobody saw", day(2026, 3, 3, 10), []line{{"10", "25", "room-1", ""}}, "D"},
	{"both fall", day(2026, 3, 3, 11), []line{{"10", "1", "room-1", ""}, {"20", "2", "room-2", ""}}, ""},
	{"both rise", day(2026, 3, 3, 12), []line{{"10", "10.5", "room-1", ""}, {"20", "20.00", "room-2", ""}}, "F F"},
}

// The four policies side by side over one history of readings.
func TestFiringPoliciesSideBySide(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := w.withMeter(nil)
		seen := map[string]bool{}
		for i, step := range history {
			var all []automation.Candidate
			for _, l := range step.lines {
				for _, policy := range policies {
					all = append(all, l.under(policy))
				}
			}
			m.set(all...)
			w.clk.Set(step.on)
			w.handle(booked(int64(i + 1)))
			w.poll()
			if diff := cmp.Diff(step.fires, letters(w.firings(seen))); diff != "" {
				w.t.Errorf("%s: %s", step.about, diff)
			}
		}
	})
}

// letters are those of the policies of keys, in the order of policies.
func letters(fired []string) string {
	var out []string
	for _, policy := range policies {
		for _, key := range fired {
			if strings.Contains(key, ":"+string(policy)+":") {
				out = append(out, map[threshold.FiringPolicy]string{threshold.OncePerSource: "S", threshold.OncePerThreshold: "T", threshold.OncePerDay: "D", threshold.FalseToTrue: "F"}[policy])
			}
		}
	}
	return strings.Join(out, " ")
}

// tell runs one policy through lines, one event each, and says what was sent.
func (w *world) tell(m *meter, policy threshold.FiringPolicy, seen map[string]bool, version *int64, lines ...line) []string {
	w.t.Helper()
	var all []automation.Candidate
	for _, l := range lines {
		all = append(all, l.under(policy))
	}
	m.set(all...)
	*version++
	w.handle(booked(*version))
	w.poll()
	return w.firings(seen)
}

// firingStory is one policy alone: what each step sends.
func firingStory(t *testing.T, policy threshold.FiringPolicy, want [7][]string) {
	eachWorld(t, func(w *world) {
		m, seen, version := w.withMeter(nil), map[string]bool{}, int64(0)
		for i, step := range []struct {
			on    time.Time
			lines []line
		}{
			{day(2026, 3, 1, 9), []line{{value: "10", reading: "11"}}},                                              // rise
			{day(2026, 3, 1, 10), []line{{value: "10", reading: "9"}}},                                              // fall
			{day(2026, 3, 1, 11), []line{{value: "10", reading: "11"}}},                                             // rise again
			{day(2026, 3, 2, 11), []line{{value: "10", reading: "11"}}},                                             // next day
			{day(2026, 3, 2, 12), []line{{value: "10", reading: "21"}, {value: "20", reading: "21"}}},               // two thresholds
			{day(2026, 3, 2, 13), []line{{value: "20", reading: "21"}, {"20", "21", "east", ""}}},                   // two scopes
			{day(2026, 3, 2, 14), []line{{value: "20", reading: "21"}, {value: "20", reading: "9", scope: "east"}}}, // one scope falls
		} {
			w.clk.Set(step.on)
			got := w.tell(m, policy, seen, &version, step.lines...)
			if diff := cmp.Diff(want[i], got); diff != "" {
				w.t.Errorf("step %d: %s", i+1, diff)
			}
		}
	})
}

func TestOncePerSourceFiresOnceWhateverIsCrossed(t *testing.T) {
	firingStory(t, threshold.OncePerSource, [7][]string{{"any:OncePerSource:source"}, {}, {}, {}, {}, {}, {}})
}

func TestOncePerThresholdFiresForEachValueAndScope(t *testing.T) {
	firingStory(t, threshold.OncePerThreshold, [7][]string{
		{"10:OncePerThreshold:source"}, {}, {}, {}, {"20:OncePerThreshold:source"}, {"20:OncePerThreshold:east"}, {},
	})
}

func TestOncePerDayFiresOnEachDayOnWhichItIsSeen(t *testing.T) {
	firingStory(t, threshold.OncePerDay, [7][]string{
		{"10:OncePerDay:source@2026-03-01"}, {}, {}, {"10:OncePerDay:source@2026-03-02"},
		{"20:OncePerDay:source@2026-03-02"}, {"20:OncePerDay:east@2026-03-02"}, {},
	})
}

func TestFalseToTrueFiresOnEachRise(t *testing.T) {
	firingStory(t, threshold.FalseToTrue, [7][]string{
		{"10:FalseToTrue:source@1"}, {}, {"10:FalseToTrue:source@2"}, {}, {"20:FalseToTrue:source@1"}, {"20:FalseToTrue:east@1"}, {},
	})
}
