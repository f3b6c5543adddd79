package keys_test

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
	"github.com/google/go-cmp/cmp"
)

func TestARecipeRefusesWhatCouldBridgeItsSlots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, value string
		want        *keys.PartError
	}{
		{"", "", &keys.PartError{Kind: "recipe", Part: "path 1", Problem: "is empty"}},
		{"a=b", "c", &keys.PartError{Kind: "recipe", Part: "path 1", Problem: "holds '=' at byte 1"}},
		{"a\x1f", "c", &keys.PartError{Kind: "recipe", Part: "path 1", Problem: "holds the control character U+001F at byte 1"}},
		{strings.Repeat("a", 201), "c", &keys.PartError{Kind: "recipe", Part: "path 1", Problem: "has 201 bytes, more than 200"}},
		{"candidate.a", "1\x1fcandidate.b=2", &keys.PartError{Kind: "recipe", Part: "candidate.a", Problem: "holds the control character U+001F at byte 1"}},
		{"candidate.a", "\x00", &keys.PartError{Kind: "recipe", Part: "candidate.a", Problem: "holds the control character U+0000 at byte 0"}},
		{"candidate.a", "a\nb", &keys.PartError{Kind: "recipe", Part: "candidate.a", Problem: "holds the control character U+000A at byte 1"}},
		{"candidate.a", "\xff", &keys.PartError{Kind: "recipe", Part: "candidate.a", Problem: "is not valid UTF-8 at byte 0"}},
	} {
		_, err := keys.RecipeHash(keys.RecipeSlot{Path: c.path, Value: c.value})
		if diff := cmp.Diff(error(c.want), err); diff != "" {
			t.Errorf("%.20q = %q (-want +got):\n%s", c.path, c.value, diff)
		}
	}
	if _, err := keys.RecipeHash(); err == nil || err.Error() != "keys: recipe: has no paths" {
		t.Errorf("no slots: %v", err)
	}
}

// An '=' in a value is one of the value: the path ends at the first.
func TestARecipesValuesMayHoldWhatIsNoControlCharacter(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, value := range []string{"", "=", "a=b", "␟", " ", "é", "\u202e", strings.Repeat("x", 5000)} {
		hash, err := keys.RecipeHash(keys.RecipeSlot{Path: "candidate.a", Value: value})
		if other, taken := seen[hash]; err != nil || taken {
			t.Errorf("%.20q: %v, and the hash of %.20q", value, err, other)
		}
		seen[hash] = value
	}
}
