package specmap

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const list = `// about
# Bells

## Ringing
b-001 a bell rings
b-002 who listens [host: the parish]
b-003 a bell is heard [open]
`

const source = `// Package bell rings.
//
//spec:b-001
package bell

// Bell is one.
//
//spec:b-001
type Bell[T any] struct{}

// Ring rings.
//
//spec:b-001 b-003
func (b *Bell[T]) ring() {}

const (
	Loud = 1
	// Soft is not loud.
	//
	//spec:b-003
	Soft = 2
)
`

const test = `package bell

//spec:b-001
func TestABellRings(t *testing.T) {}
`

func tower(more ...string) fstest.MapFS {
	tower := fstest.MapFS{
		"bell/bell.go":      {Data: []byte(source)},
		"bell/bell_test.go": {Data: []byte(test)},
		".git/none.go":      {Data: []byte("//spec:b-404")},
	}
	if len(more) > 0 {
		tower["bell/more.go"] = &fstest.MapFile{Data: []byte("package bell\n\n" + strings.Join(more, "\n"))}
	}
	return tower
}

func read(t *testing.T, tower fstest.MapFS) ([]Rule, []Anchor) {
	t.Helper()
	rules, err := Rules(list)
	if err != nil {
		t.Fatal(err)
	}
	anchors, err := Anchors(tower)
	if err != nil {
		t.Fatal(err)
	}
	return rules, anchors
}

func TestAnAnchorIsFoundAboveWhateverIsDeclared(t *testing.T) {
	t.Parallel()
	_, anchors := read(t, tower())
	want := []Anchor{
		{ID: "b-001", File: "bell/bell.go", Name: "bell"},
		{ID: "b-001", File: "bell/bell.go", Name: "bell.Bell"},
		{ID: "b-001", File: "bell/bell.go", Name: "bell.Bell.ring"},
		{ID: "b-003", File: "bell/bell.go", Name: "bell.Bell.ring"},
		{ID: "b-003", File: "bell/bell.go", Name: "bell.Soft"},
		{ID: "b-001", File: "bell/bell_test.go", Name: "TestABellRings", Test: true},
	}
	if diff := cmp.Diff(want, anchors); diff != "" {
		t.Error(diff)
	}
}

func TestThePageNamesOnePlaceAndOneTest(t *testing.T) {
	t.Parallel()
	rules, anchors := read(t, tower())
	want := "\n## Bells\n\n### Ringing\n\n" +
		"- b-001 a bell rings: [`bell`](../bell/bell.go) [`TestABellRings`](../bell/bell_test.go)\n" +
		"- b-002 who listens: *host* the parish\n" +
		"- b-003 a bell is heard: [`bell.Soft`](../bell/bell.go) *open*\n"
	if diff := cmp.Diff(want, Page(rules, anchors)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	t.Parallel()
	rules, anchors := read(t, tower())
	without := func(test bool) []Anchor {
		return slices.DeleteFunc(slices.Clone(anchors), func(a Anchor) bool { return a.Test == test && a.ID == "b-001" })
	}
	_, unknown := read(t, tower("//spec:b-404\nvar Crack = 1"))
	_, needless := read(t, tower("//spec:b-002\nvar Crack = 1"))
	for _, c := range []struct {
		name    string
		rules   []Rule
		anchors []Anchor
		want    []string
	}{
		{"nothing", rules, anchors, nil},
		{"no code", rules, without(false), []string{"nothing is anchored as what builds b-001: a bell rings"}},
		{"no test", rules, without(true), []string{"no test is anchored as what holds b-001: a bell rings"}},
		{"an unknown id", rules, unknown, []string{"bell/more.go: no rule is called b-404"}},
		{"what the host does", rules, needless, []string{"bell/more.go: b-002 is not built here: host: the parish"}},
		{"a rule twice", append(rules, rules[1]), anchors, []string{"b-002 is listed twice"}},
	} {
		if diff := cmp.Diff(c.want, Check(c.rules, c.anchors)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

func TestAnAnchorAboveNothingIsAnError(t *testing.T) {
	t.Parallel()
	_, err := Anchors(tower("//spec:b-001\n\nvar Crack = 1"))
	if err == nil || !strings.Contains(err.Error(), "stands above no declaration") {
		t.Error(err)
	}
	if _, err := Rules("b-1 too short"); err == nil {
		t.Error("a line that is no rule was read")
	}
}
