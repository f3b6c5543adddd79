package survey_test

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/survey"
)

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
		testlevel.Need(t, testlevel.All)
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
	a := &asked{Channel: h.memory(), knows: notify.LookupResult{Status: notify.LookupAccepted}}
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
	h.fails(notify.Unknown("", io.EOF))
	doubt := h.ingest().Items[0].Instances[0].PublicID
	if _, err := h.survey.PollOnce(t.Context(), 10); err != nil { // in doubt now
		t.Fatal(err)
	}
	h.fails(nil)
	waiting := h.ingest(`{"wip":"2"}`).Items[0].Instances[0].PublicID

	reopen("staging")
	h.at(0)
	h.at(time.Hour)
	if i := h.status(waiting, survey.StatusPending); i.ReasonCode != notify.ReasonQuarantine || len(h.sent()) != 1 || len(a.about) != 0 {
		t.Errorf("%d calls, asked %d times: %+v", len(h.sent()), len(a.about), i)
	}
	if i := h.status(doubt, survey.StatusPending); !i.InDoubt {
		t.Errorf("the doubt is %+v", i)
	}
	if err := notify.New(h.store, nil).Support().ReleaseQuarantine(t.Context(), someone); err != nil {
		t.Fatal(err)
	}
	h.at(2 * time.Hour)
	h.status(waiting, survey.StatusSent)
	h.status(doubt, survey.StatusSent)
	if len(h.sent()) != 2 || len(a.about) != 1 {
		t.Errorf("%d calls, asked %d times", len(h.sent()), len(a.about))
	}
}

// Options that no program can mean are found when it starts.
//
//spec:t-063
func TestNewPanicsOnWhatOnlyAProgrammerGetsWrong(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]*survey.Options{
		"a policy that is none": {InDoubt: "advance"},
		"a nil gate":            {HostGates: []notify.Gate{nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			survey.New(memory.New(nil), opts)
		})
	}
}
