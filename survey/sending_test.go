package survey_test

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/survey"
)

// scheduled are the columns that the document shows before and after a tick.
type scheduled struct {
	Status             string
	NextSendOn         time.Time
	LastSentOn         time.Time
	RemindersRemaining int
	Log                []string
}

func (h *host) scheduled(id string) scheduled {
	i := h.explain(id).Instance
	return scheduled{i.Status, i.NextSendOn, i.LastSentOn, i.RemindersRemaining, h.log(id)}
}

// The document's walk: one reminder after a day.
func TestTheScheduleWithOneReminder(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(csiGR)
		same := func(what string, want scheduled) {
			h.t.Helper()
			if diff := cmp.Diff(want, h.scheduled(id)); diff != "" {
				h.t.Errorf("%s: %s", what, diff)
			}
		}
		same("before the tick", scheduled{Status: survey.StatusPending, NextSendOn: start, RemindersRemaining: 1})
		first := start.Add(26 * time.Second) // 05:13:00
		h.clock.Set(first)
		h.drain()
		want := scheduled{survey.StatusSent, first.Add(day), first, 0, []string{"0/1 delivered"}}
		same("after the tick", want)
		h.clock.Add(5 * time.Minute)
		h.drain()
		same("five minutes later", want)
		second := first.Add(day)
		h.clock.Set(second)
		h.drain()
		same("a day later", scheduled{survey.StatusSent, time.Time{}, second, 0, []string{"0/1 delivered", "1/2 delivered"}})
		h.clock.Add(20 * day)
		h.drain()
		if got := attempts(h.sent()); !cmp.Equal(got, []int{1, 2}) {
			h.t.Errorf("the attempts are %v", got)
		}
		h.status(id, survey.StatusSent)
	})
}

func TestAScheduleWithoutReminders(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("15m", nil))
		h.drain()
		if n := len(h.sent()); n != 0 {
			h.t.Fatalf("%d links before their time", n)
		}
		h.at(15 * time.Minute)
		if i := h.status(id, survey.StatusSent); !i.NextSendOn.IsZero() || !i.StoppedOn.Equal(h.clock.Now()) || h.stored(id).Kind != "" {
			h.t.Errorf("the row is %+v", i)
		}
	})
}

func attempts(calls []channel.Message) (out []int) {
	for _, m := range calls {
		out = append(out, m.Attempt)
	}
	return out
}

// A database that was copied to another environment in the middle of a run, as a
// file or by a dump that was restored elsewhere, sends no link, and asks no provider
// about one in doubt, until somebody releases it.
func TestACopyOfADatabaseSendsNoLinks(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "belfry.db")
		copyOfLinks(t, func(mock clock.Clock, environment string) (storage.Store, error) {
			return sqlite.Open(t.Context(), file, &sqlite.Options{Clock: mock, Environment: environment})
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		testlevel.Need(t, testlevel.Nightly)
		dsn := pgtest.DSN(t)
		copyOfLinks(t, func(mock clock.Clock, environment string) (storage.Store, error) {
			if environment != "production" {
				twin := pgtest.New(t, &pgtest.Options{NoFsync: true}).Database(t)
				pgtest.Restore(t, dsn, twin)
				return postgres.Open(t.Context(), twin, &postgres.Options{Clock: mock, Environment: environment})
			}
			return postgres.Open(t.Context(), dsn, &postgres.Options{Clock: mock, Environment: environment})
		})
	})
}

func copyOfLinks(t *testing.T, open func(mock clock.Clock, environment string) (storage.Store, error)) {
	mock := clock.NewMock()
	mock.Set(start)
	h := &host{t: t, clock: mock}
	a := &asked{Channel: h.memory()}
	reopen := func(environment string) {
		store, err := open(mock, environment)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.(io.Closer).Close() })
		h.store = store
		h.use(survey.Options{}, a)
	}
	reopen("production")
	h.publish(definition("0d", nil))
	h.fails(channel.Unknown("", io.EOF))
	doubt := h.ingest().Items[0].Instances[0].PublicID
	if _, err := h.survey.PollOnce(t.Context(), 10); err != nil { // in doubt now
		t.Fatal(err)
	}
	h.fails(nil)
	waiting := h.ingest(`{"wip":"2"}`).Items[0].Instances[0].PublicID

	asked := len(a.about)

	reopen("staging")
	h.at(0)
	h.at(time.Hour)
	if i := h.status(waiting, survey.StatusPending); len(h.sent()) != 1 || len(a.about) != asked {
		t.Errorf("%d calls, asked %d times: %+v", len(h.sent()), len(a.about), i)
	}
	if i := h.status(doubt, survey.StatusPending); !i.InDoubt {
		t.Errorf("the doubt is %+v", i)
	}
	if err := notify.New(h.store, nil).Support().ReleaseQuarantine(t.Context(), someone); err != nil {
		t.Fatal(err)
	}
	a.knows.Status = channel.LookupAccepted
	h.at(2 * time.Hour)
	h.status(waiting, survey.StatusSent)
	h.status(doubt, survey.StatusSent)
	if len(h.sent()) != 2 || len(a.about) != asked+1 {
		t.Errorf("%d calls, asked %d times", len(h.sent()), len(a.about))
	}
}

// Options that no program can mean are found when it starts.
func TestNewPanicsOnWhatOnlyAProgrammerGetsWrong(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]*survey.Options{
		"a policy that is none": {InDoubt: "advance"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			survey.New(memory.New(nil), nil, opts)
		})
	}
}
