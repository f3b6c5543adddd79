package automation_test

import (
	"context"
	"slices"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// late is a host whose setting and zone change while something is planned: a provider, or
// the zone, runs meanwhile what a story says, once.
type late struct {
	*world
	asks      bool
	zone      string
	meanwhile func()
}

func (l *late) EventTypes() []string { return []string{"certificate-changed"} }

func (l *late) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	answer := automation.Answer{Version: 1}
	if l.asks {
		answer.Candidates = []automation.Candidate{{TargetDate: automation.Date{Year: 2026, Month: 4, Day: 1}, SendAt: "09:00"}}
	}
	l.pause()
	return slices.Repeat([]automation.Answer{answer}, len(of)), nil
}

// pause lets happen what happens meanwhile.
func (l *late) pause() {
	if f := l.meanwhile; f != nil {
		l.meanwhile = nil
		f()
	}
}

func eachLate(t *testing.T, story func(l *late)) {
	t.Helper()
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		l := &late{zone: "UTC"}
		l.world = newWorld(t, store, clk, &automation.Options{Zone: func(context.Context, automation.Scope, string) (string, error) {
			zone := l.zone
			l.pause()
			return zone, nil
		}})
		l.s.Register(certificates(func(t *automation.ReminderType) {
			t.Zone, t.Triggers = "", l
			t.Scan = &automation.Scan{SourceType: "employee", Scopes: []automation.Scope{""}, Window: 365, Read: func(context.Context, automation.ScanRequest) (automation.ScanPage, error) {
				return automation.ScanPage{Sources: []automation.ScannedSource{{Source: automation.Source{Type: "employee", ID: "7"}, Version: 1}}, Done: true}, nil
			}}
		}))
		story(l)
	})
}

// save changes something in a transaction with its mark, and has all planned again.
func (l *late) save(change func()) {
	l.t.Helper()
	change()
	l.replan(automation.Replan{})
}

const lateKey = "reminder:certificate:employee:7:default:2026-04-01:0"

// The plan of an event, a Set or an Ensure is older than what was saved meanwhile, and its
// transaction comes last.
func TestAPlanThatWasMadeBeforeASettingAskedDoesNotUndoIt(t *testing.T) {
	eachLate(t, func(l *late) {
		l.meanwhile = func() { l.save(func() { l.asks = true }) }
		l.handle(changed(1))
		if diff := cmp.Diff(map[string]string{lateKey: "Pending"}, l.statuses()); diff != "" {
			l.t.Error(diff)
		}
	})
}

func TestAPlanThatWasMadeInAnOlderZoneDoesNotUndoTheNewOne(t *testing.T) {
	wish := automation.Candidate{TargetDate: automation.Date{Year: 2026, Month: 4, Day: 1}, SendAt: "09:00"}
	for name, ask := range map[string]func(l *late){
		"event": func(l *late) { l.handle(changed(1)) },
		"set": func(l *late) {
			_, err := l.s.Type("certificate").Set(l.ctx, automation.About{ID: "7", SourceType: "employee"}, wish)
			l.must(err)
		},
		"ensure": func(l *late) {
			c := wish
			c.Type, c.Source = "certificate", automation.Source{Type: "employee", ID: "7"}
			l.ensure(c)
		},
		"scan": func(l *late) {
			_, err := l.s.Maintenance().Reconcile(l.ctx, "", "certificate", &automation.ReconcileOptions{FromStart: true})
			l.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachLate(t, func(l *late) {
				l.asks = true
				l.meanwhile = func() { l.save(func() { l.zone = "Asia/Tokyo" }) }
				ask(l)
				if got := l.row(lateKey).ScheduledOn; !got.Equal(day(2026, 4, 1, 0)) {
					l.t.Errorf("it is due at %s", got)
				}
			})
		})
	}
}

// A mark within a transaction that is rolled back hides no later one of another.
func TestAMarkThatWasRolledBackIsNotRemembered(t *testing.T) {
	eachLate(t, func(l *late) {
		l.asks = true
		l.handle(changed(1))
		_ = l.store.InTx(l.ctx, func(tx storage.Tx) error {
			l.must(automation.MarkReplan(l.ctx, tx, automation.Replan{}))
			_, err := l.s.WithTx(tx).HandleEvent(l.ctx, changed(2))
			l.must(err)
			return errBoom
		})
		l.meanwhile = func() { l.save(func() { l.zone = "Asia/Tokyo" }) }
		l.handle(changed(3))
		if got := l.row(lateKey).ScheduledOn; !got.Equal(day(2026, 4, 1, 0)) {
			l.t.Errorf("it is due at %s", got)
		}
	})
}

// onTheDay asks for a reminder on the day.
func onTheDay() *triggers {
	return &triggers{candidates: []automation.Candidate{{TargetDate: automation.Date{Year: 2026, Month: 4, Day: 1}, SendAt: "09:00"}}}
}

// The zone or calendar of a unit is saved shortly before a row is due, and the re-plan has
// not come to it.
func TestARowThatIsDueBeforeTheReplanHasComeToIt(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]func(zone *string, closed *bool){
		"zone":     func(zone *string, _ *bool) { *zone = "America/New_York" },
		"calendar": func(_ *string, closed *bool) { *closed = true },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
				zone, closed := "UTC", false
				w := newWorld(t, store, clk, &automation.Options{
					Zone: func(context.Context, automation.Scope, string) (string, error) { return zone, nil },
				})
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Zone, t.Triggers = "", onTheDay()
					t.BusinessDay = func(_ context.Context, _ automation.Scope, _ string, d automation.Date) (automation.Date, error) {
						if closed {
							return d.AddDays(1), nil
						}
						return d, nil
					}
				}))
				w.ensure(automation.Candidate{Type: "certificate", Source: automation.Source{Type: "employee", ID: "7"}, TargetDate: automation.Date{Year: 2026, Month: 4, Day: 1}})
				later(&zone, &closed)
				w.pollAt(day(2026, 4, 1, 9))
				if got := w.row(lateKey); got.Status != automation.StatusPending || !got.ScheduledOn.After(clk.Now()) || len(w.out.dispatched()) != 0 {
					t.Errorf("%s at %s, %v", got.Status, got.ScheduledOn, w.out.dispatched())
				}
				w.pollAt(day(2026, 4, 2, 14))
				if got := w.out.dispatched(); len(got) != 1 {
					t.Error(got)
				}
			})
		})
	}
}

// fickle is a source whose answer changes while it is asked.
type fickle struct {
	*world
	asks      []automation.Candidate
	meanwhile func()
}

func (*fickle) EventTypes() []string { return nil }

func (f *fickle) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	now := f.asks
	if change := f.meanwhile; change != nil {
		f.meanwhile = nil
		change()
	}
	return slices.Repeat([]automation.Answer{{Version: 1, Candidates: now}}, len(of)), nil
}

// A due row is asked about, then a setting changes, and the re-plan passes its source before
// the row is settled. What the row asked for by the older setting does not stay.
func TestWhatADueRowAsksForByAnOlderSettingIsPlannedAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		of := func(d int, sendAt string) automation.Candidate {
			return automation.Candidate{TargetDate: automation.Date{Year: 2026, Month: 4, Day: d}, SendAt: sendAt}
		}
		f := &fickle{world: w}
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Triggers = f }))
		first := of(1, "09:00")
		first.Type, first.Source = "certificate", automation.Source{Type: "employee", ID: "7"}
		w.ensure(first)
		f.asks = []automation.Candidate{of(3, "09:00")}
		f.meanwhile = func() {
			f.asks = []automation.Candidate{of(1, "09:00"), of(3, "10:00")}
			w.replan(automation.Replan{})
		}
		w.pollAt(day(2026, 4, 1, 9))
		w.drain(passOf(w.s, "automation.reconcile"))
		later := w.row("reminder:certificate:employee:7:default:2026-04-03:0")
		if got := w.row(lateKey); got.Status != automation.StatusPending || !later.ScheduledOn.Equal(day(2026, 4, 3, 10)) {
			w.t.Errorf("the first is %s, the other is due at %s", got.Status, later.ScheduledOn)
		}
	})
}
