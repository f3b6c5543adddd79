package driver_test

import (
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// hint takes what a signal was told: whether, and the earliest moment.
func hint(s *driver.Signal) (woken bool, first time.Time) {
	select {
	case <-s.C():
		return true, s.Take()
	default:
		return false, s.Take()
	}
}

func TestHintsThatNobodyTookAreMerged(t *testing.T) {
	t.Parallel()
	var w driver.Waker
	s := w.Listen("visit")
	defer s.Close()
	w.Wake(driver.Hint{Table: "visit"}, noon.Add(2))
	w.Wake(driver.Hint{Table: "visit"}, noon)
	w.Wake(driver.Hint{Table: "visit"}, noon.Add(1))
	if woken, first := hint(s); !woken || !first.Equal(noon) {
		t.Errorf("woken %t for %v", woken, first)
	}
	if woken, first := hint(s); woken || !first.IsZero() {
		t.Errorf("woken %t for %v, a second time", woken, first)
	}
	w.Wake(driver.Hint{Table: "visit"}, noon.Add(9))
	if woken, first := hint(s); !woken || !first.Equal(noon.Add(9)) {
		t.Errorf("woken %t for %v, after the first was taken", woken, first)
	}
}

func TestEveryListenerOfTheTableHears(t *testing.T) {
	t.Parallel()
	var w driver.Waker
	one, two, other, closed := w.Listen("visit"), w.Listen("visit", "Planned", "Over"), w.Listen("meal"), w.Listen("visit")
	still := w.Listen("visit", "Cancelled")
	closed.Close()
	w.Wake(driver.Hint{Table: "visit", Status: "Over"}, noon)
	for name, c := range map[string]struct {
		s    *driver.Signal
		want bool
	}{"one": {one, true}, "two": {two, true}, "other": {other, false}, "closed": {closed, false}, "of another status": {still, false}} {
		if woken, _ := hint(c.s); woken != c.want {
			t.Errorf("%s: woken %t", name, woken)
		}
	}
	w.Wake(driver.Hint{Table: "visit"}, noon)
	if woken, _ := hint(still); !woken {
		t.Error("rows of which nobody knows the status wake nobody")
	}
	(&driver.Waker{}).Wake(driver.Hint{Table: "visit"}, noon) // nobody listens
}

func TestHintsCollectTheEarliestOfEachTable(t *testing.T) {
	t.Parallel()
	table := visits()
	var w driver.Waker
	s := w.Listen("visit")
	var hints driver.Hints
	hints.Send(&w)
	hints.Add(&table.Schema, []driver.Row{&visit{}})
	hints.Send(&w)
	if woken, _ := hint(s); woken {
		t.Error("woken without a due row")
	}
	late, early := &visit{}, &visit{}
	late.DueOn, early.DueOn = noon.Add(5), noon
	hints.Add(&table.Schema, []driver.Row{late})
	hints.Add(&table.Schema, []driver.Row{early, late, &visit{}})
	hints.Send(&w)
	if woken, first := hint(s); !woken || !first.Equal(noon) {
		t.Errorf("woken %t for %v", woken, first)
	}
}

func TestAWakerGoesWithAnyNumberOfGoroutines(t *testing.T) {
	t.Parallel()
	var w driver.Waker
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			s := w.Listen("visit")
			defer s.Close()
			w.Wake(driver.Hint{Table: "visit"}, noon)
			<-s.C()
			if first := s.Take(); !first.Equal(noon) {
				t.Errorf("woken for %v", first)
			}
		})
	}
	group.Wait()
}
