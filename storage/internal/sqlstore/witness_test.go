package sqlstore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
)

// stubs is a table whose rows stay.
var stubs = driver.Define[struct {
	driver.Record
	driver.Tombstone
}]("stubs")

func TestWhatIsForgotten(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	saw := func(s *driver.Schema, key string, version int64) witness {
		return witness{schema: s, at: driver.ScopedKey{Key: key}, id: 7, version: version}
	}
	is := func(s *driver.Schema, key string, id, version int64) (row, driver.Record) {
		return row{s.Name, driver.ScopedKey{Key: key}}, driver.Record{ID: id, Version: version}
	}
	for name, c := range map[string]struct {
		saw   []witness
		there func(add func(row, driver.Record))
		after time.Duration
		want  []int64 // versions
		from  int     // of those seen, the last one before the loss that is there, or the first lost one
	}{
		"all there": {
			saw: []witness{saw(&jobs.Schema, "a", 2), saw(&stubs.Schema, "b", 1)},
			there: func(add func(row, driver.Record)) {
				add(is(&jobs.Schema, "a", 7, 2))
				add(is(&stubs.Schema, "b", 7, 5))
			},
		},
		"an older version": {
			saw:   []witness{saw(&jobs.Schema, "a", 2), saw(&jobs.Schema, "a", 3), saw(&jobs.Schema, "b", 1)},
			there: func(add func(row, driver.Record)) { add(is(&jobs.Schema, "a", 7, 2)); add(is(&jobs.Schema, "b", 7, 1)) },
			want:  []int64{3},
		},
		"the last rows are gone": {
			saw:   []witness{saw(&jobs.Schema, "a", 2), saw(&stubs.Schema, "b", 1), saw(&stubs.Schema, "c", 4)},
			there: func(add func(row, driver.Record)) { add(is(&jobs.Schema, "a", 7, 2)) },
			want:  []int64{1, 4},
		},
		"a row that was deleted since": {
			saw:   []witness{saw(&stubs.Schema, "a", 1), saw(&jobs.Schema, "b", 2)},
			there: func(add func(row, driver.Record)) { add(is(&jobs.Schema, "b", 7, 2)) },
		},
		"a row of a table whose rows go at any time": {
			saw:   []witness{saw(&jobs.Schema, "a", 2)},
			there: func(func(row, driver.Record)) {},
		},
		"made again": {
			saw:   []witness{saw(&stubs.Schema, "a", 1)},
			there: func(add func(row, driver.Record)) { add(is(&stubs.Schema, "a", 8, 1)) },
			want:  []int64{1},
		},
		"what came before and may have been deleted is not known to be there": {
			saw: []witness{saw(&jobs.Schema, "a", 2), saw(&jobs.Schema, "b", 1), saw(&jobs.Schema, "a", 3), saw(&jobs.Schema, "c", 2)},
			there: func(add func(row, driver.Record)) {
				add(is(&jobs.Schema, "a", 7, 2))
				add(is(&jobs.Schema, "c", 7, 2))
			},
			want: []int64{3},
		},
		"old enough to be swept": {
			saw:   []witness{saw(&stubs.Schema, "a", 3)},
			there: func(func(row, driver.Record)) {},
			after: goneAfter,
		},
	} {
		there := map[row]driver.Record{}
		c.there(func(at row, r driver.Record) { there[at] = r })
		for i := range c.saw {
			c.saw[i].on = noon.Add(time.Duration(i) * time.Second)
		}
		var got []int64
		lost, from := missing(c.saw, there, noon.Add(time.Minute+c.after))
		for _, w := range lost {
			got = append(got, w.version)
		}
		if want := noon.Add(time.Duration(c.from) * time.Second); got != nil && !from.Equal(want) {
			t.Errorf("%s: from %v, want %v", name, from, want)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// However many commits there are, the last ones are remembered one by one, those before
// in steps that grow with their age, and the first one too.
func TestWitnessesAreBounded(t *testing.T) {
	t.Parallel()
	s := (&fake{}).store(t, nil)
	for i := range int64(10_000) {
		s.remember(&tx{store: s, last: witness{schema: &jobs.Schema, id: i}})
	}
	all := s.memory.all
	if len(all) > witnesses+1 || all[0].id != 0 {
		t.Errorf("%d witnesses, the first of %d", len(all), all[0].id)
	}
	for i, w := range all[1:] {
		if age, gap := 10_000-w.id, w.id-all[i].id; gap > 1+age/2 {
			t.Errorf("of what was %d commits ago, %d are forgotten in a row", age, gap)
		}
	}
	for i := range int64(witnesses/2 - 1) {
		if got := all[len(all)-1-int(i)].id; got != 9_999-i {
			t.Errorf("the last but %d is %d", i, got)
		}
	}
	s.remember(&tx{store: s, deleted: []int64{9_999}})
	if last := s.memory.all[len(s.memory.all)-1].id; last != 9_998 {
		t.Errorf("what the process has deleted is remembered: %d", last)
	}
}
