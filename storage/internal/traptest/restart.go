package traptest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/driver"
)

// answers are what callers were told about the rows that they wrote.
type answers struct {
	sync.Mutex
	told map[string]error // by key
	came chan answer      // the latest, as long as somebody listens
}

type answer struct {
	caller int
	ok     bool
}

func (a *answers) note(caller int, key string, err error) {
	a.Lock()
	a.told[key] = err
	a.Unlock()
	select {
	case a.came <- answer{caller, err == nil}:
	default:
	}
}

// until waits until each caller has succeeded, or failed. A test that has failed waits
// for nothing.
func (a *answers) until(t *testing.T, callers int, ok bool) {
	t.Helper()
	for len(a.came) > 0 { // those of before
		<-a.came
	}
	late, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for seen := map[int]bool{}; len(seen) < callers; {
		select {
		case got := <-a.came:
			if t.Failed() {
				t.FailNow()
			}
			if got.ok == ok {
				seen[got.caller] = true
			}
		case <-late.Done():
			t.Fatalf("after a minute only callers %v were told that it worked: %t", seen, ok)
		}
	}
}

// Callers go on while their server is killed, or stopped, and started again. Each call
// comes back within its context and a second, nobody has to open the store again, and
// what was told is so: committed, not committed, or not known.
func restarts(t *testing.T, a Adapter) {
	server := pgtest.New(t, nil)
	dsn := server.Database(t)
	s := a.opened(t, dsn, Options{Clock: RealTime})
	const callers = 4
	log := &answers{told: map[string]error{}, came: make(chan answer, 16*callers)}
	done := make(chan struct{})
	var calling sync.WaitGroup
	end := sync.OnceFunc(func() { close(done); calling.Wait() })
	t.Cleanup(end)
	for c := range callers {
		calling.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				key := fmt.Sprint(c, "/", i)
				log.note(c, key, write(t, a, s, key, c%2 == 0))
			}
		})
	}
	for _, fell := range []func() error{server.Kill, server.Stop, server.Kill} {
		log.until(t, callers, true)
		if err := fell(); err != nil {
			t.Fatal(err)
		}
		log.until(t, callers, false)
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	log.until(t, callers, true)
	end()
	log.compare(t, s)
}

// write inserts a row, in a transaction of the store or of the host.
func write(t *testing.T, a Adapter, s Store, key string, own bool) error {
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	row := DueTasks(1)[0]
	row.Key = key
	insert := func(bound driver.Tx) error {
		_, err := Tasks.Insert(ctx, bound, row)
		return err
	}
	start := RealTime.Now()
	var err error
	if own {
		err = s.InTx(ctx, insert)
	} else {
		err = a.InHostTx(ctx, s, func(_ context.Context, _ Host, bound driver.Tx) error { return insert(bound) })
	}
	if took := RealTime.Since(start); took > short+time.Second {
		t.Errorf("%s: took %v with a context of %v", key, took, short)
	}
	if err != nil && !passing(err) {
		t.Errorf("%s: %v", key, err)
	}
	return err
}

// passing reports whether an error says that the server was away.
func passing(err error) bool {
	return errors.Is(err, driver.ErrOutcomeUnknown) || errors.Is(err, driver.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// compare holds what was told against what is there.
func (a *answers) compare(t *testing.T, s Store) {
	t.Helper()
	there := map[string]bool{}
	err := s.View(t.Context(), func(r driver.Reader) error {
		rows, err := Tasks.Find(t.Context(), r, "", driver.Query{Limit: len(a.told)})
		for _, row := range rows {
			there[row.Key] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for key, told := range a.told {
		switch {
		case told == nil && !there[key]:
			t.Errorf("%s was committed, and is lost", key)
		case told == nil:
		case errors.Is(told, driver.ErrOutcomeUnknown):
			unknown++
		case there[key]:
			t.Errorf("%s is there, and its writer was told: %v", key, told)
		}
	}
	t.Logf("%d calls, %d rows, %d outcomes unknown", len(a.told), len(there), unknown)
}
