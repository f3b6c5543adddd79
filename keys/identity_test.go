package keys_test

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestI20_SplitGivesBackWhatJoined for parts that hold colons and
// underscores, and for such as hold the separator.
func TestI20_SplitGivesBackWhatJoined(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(anyText(), 0, 6).Draw(t, "parts")
		joined, err := keys.Join(parts...)
		if err != nil {
			wantPartError(t, err)
			return
		}
		got, err := keys.Split(joined)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parts, got); diff != "" {
			t.Fatalf("%q (-joined +split):\n%s", joined, diff)
		}
	})
}

func TestJoinRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1024)
	for problem, parts := range map[string][]string{
		"identity: has no parts":                                         nil,
		"identity: part 1: is empty":                                     {""},
		"identity: part 2: is empty":                                     {"a", "", "b"},
		"identity: part 2: holds the control character U+001F at byte 1": {"a", "b\x1fc"},
		"identity: part 1: holds the control character U+000A at byte 0": {"\n"},
		"identity: part 3: is not valid UTF-8 at byte 0":                 {"a", "b", "\xff"},
		"identity: part 1: has 2049 bytes, more than 2048":               {long + long + "a"},
		"identity: has 2049 bytes, more than 2048":                       {long, long},
	} {
		if joined, err := keys.Join(parts...); err == nil || err.Error() != "keys: "+problem {
			t.Errorf("got %.20q, %v, want %s", joined, err, problem)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "\x1f", "a\x1f", "\x1fa", "a\x1f\x1fb", "a\x00", "a\xff", strings.Repeat("a", 2049)} {
		parts, err := keys.Split(s)
		if err == nil {
			t.Errorf("%.20q: got %q, want an error", s, parts)
			continue
		}
		wantPartError(t, err)
	}
}

// TestTheLongestGuardFits: type, partition, row and event type at their
// limits make an identity that Join accepts.
func TestTheLongestGuardFits(t *testing.T) {
	t.Parallel()
	part, row := strings.Repeat("a", keys.MaxPartLen), strings.Repeat("r", keys.MaxKeyLen)
	if _, err := keys.Join(part, "employee:"+part, row, part); err != nil {
		t.Error(err)
	}
}
