package keys_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/belfry-go/belfry/keys"
	"pgregory.net/rapid"
)

func dateInput() keys.Input {
	return keys.Input{
		BusinessUnit: "dublin", SourceType: "employee", Source: "first-aid", Setting: "setting-1",
		TriggerType: "DateBased", TriggerKey: "default", TargetDate: "2026-05-01", OffsetDays: 30,
		Identity: map[string]string{"issuer": "red cross", "course": "level 2"},
	}
}

var thresholdInput = keys.Input{
	BusinessUnit: "dublin", SourceType: "class", Source: "7", Setting: "setting-1",
	TriggerType: "ThresholdCondition", TriggerKey: "default",
	Metric: "occupancy", Comparison: ">=", Threshold: "0.9", Policy: keys.OncePerDay, Scope: "room-1",
}

// TestEveryFieldOfInputCounts changes one field at a time; a field that is
// added later and forgotten in Hash fails here.
func TestEveryFieldOfInputCounts(t *testing.T) {
	t.Parallel()
	seen := map[string]string{dateInput().Hash(): "none"}
	fields := reflect.TypeFor[keys.Input]()
	for i := range fields.NumField() {
		in := dateInput()
		switch f := reflect.ValueOf(&in).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString(f.String() + "x")
		case reflect.Int:
			f.SetInt(f.Int() + 1)
		case reflect.Map:
			in.Identity["course"] = "level 3"
		}
		name := fields.Field(i).Name
		if other, taken := seen[in.Hash()]; taken {
			t.Errorf("changing %s gives the hash of changing %s", name, other)
		}
		seen[in.Hash()] = name
	}
}

// TestInputHashTellsNeighboursApart: texts that run together if fields are
// only appended.
func TestInputHashTellsNeighboursApart(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i, in := range []keys.Input{
		{},
		{SourceType: "ab", Source: "c"},
		{SourceType: "a", Source: "bc"},
		{SourceType: "abc"},
		{Source: "abc"},
		{Metric: "1"},
		{OffsetDays: 1},
		{OffsetDays: -1},
		{Identity: map[string]string{"a": ""}},
		{Identity: map[string]string{"": "a"}},
		{Identity: map[string]string{"": ""}},
		{Identity: map[string]string{"a": "", "b": ""}},
		{Identity: map[string]string{"a": "b"}},
		{Identity: map[string]string{"ab": ""}},
		{Scope: "a", Identity: map[string]string{"b": ""}},
		{Scope: "ab"},
	} {
		if other, taken := seen[in.Hash()]; taken {
			t.Errorf("inputs %d and %d have one hash", other, i)
		}
		seen[in.Hash()] = i
	}
}

func TestNoIdentityIsAnEmptyOne(t *testing.T) {
	t.Parallel()
	if (keys.Input{}).Hash() != (keys.Input{Identity: map[string]string{}}).Hash() {
		t.Error("nil and empty Identity differ")
	}
}

// TestI19_OrderOfAMapDoesNotMatter fills equal maps in different orders;
// large ones, whose iteration differs from run to run.
func TestI19_OrderOfAMapDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		identity := rapid.MapOfN(rapid.String(), rapid.String(), 0, 40).Draw(t, "identity")
		want := keys.Input{Identity: identity}.Hash()
		again := map[string]string{}
		names := slices.Sorted(maps.Keys(identity))
		for _, name := range rapid.Permutation(names).Draw(t, "order") {
			again[name] = identity[name]
		}
		for range 5 {
			if got := (keys.Input{Identity: maps.Clone(again)}).Hash(); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
	})
}

// TestSumIsInjective cuts one text into fields in two ways.
func TestSumIsInjective(t *testing.T) {
	t.Parallel()
	field := rapid.SampledFrom([]string{"", "a", "aa", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x01", "a\x00\x00\x00\x00\x00\x00\x00\x01a"})
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(field, 0, 4).Draw(t, "a")
		b := rapid.SliceOfN(field, 0, 4).Draw(t, "b")
		same := fmt.Sprintf("%q", a) == fmt.Sprintf("%q", b)
		if (keys.Sum(a...) == keys.Sum(b...)) != same {
			t.Fatalf("%q and %q: equal sums, %v", a, b, !same)
		}
	})
}
