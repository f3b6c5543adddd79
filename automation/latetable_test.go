package automation_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// lateCase is a row of the table in docs/automation.md.
type lateCase struct {
	lateness    automation.Lateness
	late        time.Duration
	another     string // a later one: due, went out, to come
	asked, open string
}

// lateCases reads the table.
func lateCases(t *testing.T) map[string]lateCase {
	t.Helper()
	page, err := os.ReadFile("../docs/automation.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| --- | --- | --- | --- | --- | --- | --- |\n")
	out := map[string]lateCase{}
	for line := range strings.Lines(table) {
		c := strings.Split(line, "|")
		if len(c) != 9 {
			break
		}
		for i := range c {
			c[i] = strings.TrimSpace(c[i])
		}
		span := func(text string) time.Duration {
			if text == "" {
				return 0
			}
			d, err := time.ParseDuration(text)
			if err != nil {
				t.Error(line, err)
			}
			return d
		}
		out[strings.Join(c[1:6], " ")] = lateCase{
			automation.Lateness{CatchUp: span(c[1]), Window: span(c[2]), OnlyLatest: c[3] == "yes"}, span(c[4]), c[5], c[6], c[7],
		}
	}
	if len(out) < 10 {
		t.Errorf("%d rows of the table", len(out))
	}
	return out
}

// lateWorld is one row of the table under way.
type lateWorld struct {
	*world
	lateCase
	failing bool
	moment  time.Time // of the one that is late
	later   time.Time
	wishes  []automation.Candidate // it, and the later one
}

func newLateWorld(t *testing.T, store storage.Store, clk *clock.Mock, c lateCase) *lateWorld {
	t.Helper()
	w := &lateWorld{world: newWorld(t, store, clk, nil), lateCase: c, moment: day(2026, 4, 1, 9), wishes: offsets(date(2026, 5, 1), 30)}
	w.s.Register(certificates(func(t *automation.ReminderType) {
		t.Lateness = c.lateness
		t.Recipients = automation.RecipientFunc(func(ctx context.Context, d automation.Due) ([]notify.Recipient, error) {
			if w.failing && d.Key == certificateKey {
				return nil, errBoom
			}
			return toSam(ctx, d)
		})
	}))
	if w.later = w.moment.Add(time.Hour); c.another == "to come" {
		w.later = w.now().Add(time.Hour)
	}
	if c.another != "" {
		w.wishes = append(w.wishes, automation.Candidate{At: w.later})
	}
	return w
}

// now is when the late one is looked at.
func (w *lateWorld) now() time.Time { return w.moment.Add(w.late) }

// goOut has the later one go out, if it does, while the other one waits for a try.
func (w *lateWorld) goOut() {
	w.t.Helper()
	if w.another != "went out" {
		return
	}
	w.failing = true
	for _, after := range []time.Duration{0, 6 * time.Minute, 25 * time.Minute, time.Hour} {
		w.pollAt(w.moment.Add(after))
	}
	w.failing = false
}

// wantAsked asks for both, and sees what becomes of the late one.
func (w *lateWorld) wantAsked(made storage.Outcome, otherwise string) {
	w.t.Helper()
	w.clk.Set(w.now())
	got := w.wish(ofSam, w.wishes...).Ensured[0].Outcome
	w.runAll()
	want, status := storage.Outcome(causes.OffsetPassed), otherwise
	if w.asked == "made" {
		want, status = made, "Completed"
	}
	if is := w.statuses()[certificateKey]; got != want || is != status {
		w.t.Errorf("%s, then %q; want %s, %q", got, is, want, status)
	}
}

// What a moment that has passed is still worth, as the page about it says: to one that
// is asked for now, to one that was asked for before and had ended, and to one that was
// open all the time.
func TestTheTableOfLateness(t *testing.T) {
	t.Parallel()
	for name, c := range lateCases(t) {
		story := func(what string, play func(w *lateWorld)) {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) { play(newLateWorld(t, store, clk, c)) })
			})
		}
		story("new", func(w *lateWorld) {
			if w.another == "went out" {
				w.wish(ofSam, w.wishes[1])
			}
			w.goOut()
			w.wantAsked(storage.Created, "")
		})
		story("ended", func(w *lateWorld) {
			w.wish(ofSam, w.wishes...)
			w.wish(ofSam, w.wishes[1:]...)
			w.goOut()
			w.wantAsked(storage.Reactivated, "Deactivated Superseded")
		})
		story("open", func(w *lateWorld) {
			w.wish(ofSam, w.wishes...)
			w.goOut()
			w.clk.Set(w.now())
			w.runAll()
			want := map[string]string{"runs": "Completed", "TooLate": "Deactivated TooLate", "Overtaken": "Deactivated Overtaken"}[w.open]
			if is, _, _ := strings.Cut(w.statuses()[certificateKey], " HandlerFailed"); is != want {
				w.t.Errorf("%q, want %q", is, want)
			}
		})
	}
}
