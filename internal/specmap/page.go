package specmap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Page is the map as Markdown, for docs/: of each rule one place in the code and
// one test. Exported names come before others, and what has few rules before what
// has many.
func Page(rules []Rule, anchors []Anchor) string {
	type place struct{ file, name string }
	load := map[place]int{}
	for _, a := range anchors {
		load[place{a.File, a.Name}]++
	}
	anchors = slices.Clone(anchors)
	slices.SortStableFunc(anchors, func(a, b Anchor) int {
		return cmp.Or(cmp.Compare(hidden(a.Name), hidden(b.Name)),
			cmp.Compare(load[place{a.File, a.Name}], load[place{b.File, b.Name}]))
	})
	code, tests := map[string]Anchor{}, map[string]Anchor{}
	for _, a := range anchors {
		into := code
		if a.Test {
			into = tests
		}
		if _, has := into[a.ID]; !has {
			into[a.ID] = a
		}
	}
	var b strings.Builder
	var last Rule
	for _, r := range rules {
		if r.Document != last.Document {
			fmt.Fprintf(&b, "\n## %s\n", r.Document)
		}
		if r.Section != last.Section {
			fmt.Fprintf(&b, "\n### %s\n\n", r.Section)
		}
		fmt.Fprintf(&b, "- %s %s:%s\n", r.ID, r.Says, places(r, code[r.ID], tests[r.ID]))
		last = r
	}
	return b.String()
}

// places says where a rule lives, or why nowhere.
func places(r Rule, code, test Anchor) string {
	var b strings.Builder
	for _, a := range []Anchor{code, test} {
		if a.Name != "" {
			fmt.Fprintf(&b, " [`%s`](../%s)", a.Name, a.File)
		}
	}
	if r.Status != "" {
		word, reason, _ := strings.Cut(r.Status, ":")
		fmt.Fprintf(&b, " *%s*%s", word, reason)
	}
	return b.String()
}

// hidden is 0 for a name that hosts see, 1 for others.
func hidden(name string) int {
	_, name, _ = strings.Cut(name, ".")
	for part := range strings.SplitSeq(name, ".") {
		if part != "" && !unicode.IsUpper(rune(part[0])) {
			return 1
		}
	}
	return 0
}
