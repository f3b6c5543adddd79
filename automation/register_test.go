package automation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// panics returns what f panics with, as text.
func panics(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

func TestOnlyAProgrammersMistakesPanic(t *testing.T) {
	t.Parallel()
	store := memory.New(&memory.Options{Clock: clock.NewMock()})
	out := notify.New(store, nil)
	nothing := automation.HandlerFunc(func(context.Context, []automation.Due) ([]automation.Outcome, error) { return nil, nil })
	s := automation.New(store, out, nil)
	s.Register(certificates(nil))
	s.Handle("export", nothing)
	with := func(change func(*automation.ReminderType)) func() {
		return func() {
			s.Register(certificates(func(t *automation.ReminderType) { t.Name = "new"; change(t) }))
		}
	}
	for want, f := range map[string]func(){
		"New needs a store and a dispatcher":                      func() { automation.New(nil, out, nil) },
		"needs a store and a dispatcher":                          func() { automation.New(store, nil, nil) },
		`Register("certificate"): the name is registered already`: func() { s.Register(certificates(nil)) },
		`Register("export"): the name is registered already`:      func() { s.Register(certificates(func(t *automation.ReminderType) { t.Name = "export" })) },
		`Register(""): the name is empty`:                         with(func(t *automation.ReminderType) { t.Name = "" }),
		`Register("a:b"): the name holds ':'`:                     with(func(t *automation.ReminderType) { t.Name = "a:b" }),
		"it has no Recipients":                                    with(func(t *automation.ReminderType) { t.Recipients = nil }),
		`time zone "Mars/Olympus" is unknown`:                     with(func(t *automation.ReminderType) { t.Zone = "Mars/Olympus" }),
		`time of day "25:00"`:                                     with(func(t *automation.ReminderType) { t.SendAt = "25:00" }),
		`gap policy "jump"`:                                       with(func(t *automation.ReminderType) { t.Gap = "jump" }),
		"a negative CatchUp":                                      with(func(t *automation.ReminderType) { t.CatchUp = -1 }),
		`Handle("new"): no handler`:                               func() { s.Handle("new", nil) },
		`Handle("Reminder"): the name is reserved`:                func() { s.Handle("Reminder", nothing) },
		`Handle("ReportSubscription"): the name is reserved`:      func() { s.Handle("ReportSubscription", nothing) },
		`Handle("a:b"): the name holds ':'`:                       func() { s.Handle("a:b", nothing) },
		`Handle("export"): the name is registered already`:        func() { s.Handle("export", nothing) },
		"LongRunning without a handler":                           func() { automation.LongRunning(nil) },
		"WithTx needs a transaction of the scheduler's own store": func() { s.WithTx(nil) },
	} {
		if got := panics(t, f); !strings.Contains(got, want) {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
	err := memory.New(nil).InTx(t.Context(), func(tx storage.Tx) error {
		if got := panics(t, func() { s.WithTx(tx) }); !strings.Contains(got, "own store") {
			t.Error(got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// plain is a dispatcher that cannot register types.
type plain struct{ notify.DeliveryDispatcher }

func TestRegisterTellsTheDispatcherUnlessItCannotOrNeedNotKnow(t *testing.T) {
	t.Parallel()
	store := memory.New(&memory.Options{Clock: clock.NewMock()})
	out := notify.New(store, nil)
	s := automation.New(store, out, nil)
	s.Register(certificates(nil))
	if got := panics(t, func() { out.Register(notify.Type{Name: "certificate"}) }); !strings.Contains(got, "certificate") {
		t.Error("the notification type is not registered:", got)
	}
	out.Register(notify.Type{Name: "urgent-mail"})
	s.Register(certificates(func(t *automation.ReminderType) { t.Name, t.NotificationType = "invoice", "urgent-mail" }))
	out.Register(notify.Type{Name: "invoice"}) // is free
	automation.New(store, plain{out}, nil).Register(certificates(nil))
}

func TestAReminderMayNameANotificationTypeOfTheHost(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.NotificationType = "mail" }))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		if job := w.out.jobs[0]; job.Type != "mail" || len(job.Recipients) != 1 {
			w.t.Errorf("%+v", job)
		}
	})
}
