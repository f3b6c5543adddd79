package keys_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
)

// FuzzParse: whatever Parse accepts builds itself again.
func FuzzParse(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.want)
	}
	for _, s := range []string{
		"", ":", "reminder:::::::", "reminder:threshold:threshold:threshold:threshold:threshold:a:1:OncePerThreshold:a",
		"reminder:a:b:c:d:recurring:2026-03-01T08:00:00.0Z", "reminder:a:b:c:d:2026-02-30:1", "host:a:b:c:d:e", "event:a:b:c:d:\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { wantRebuilt(t, s) })
}

// FuzzDecimal: the result is the same number, and the only spelling of it.
func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0.90", ".9", "9e-1", "-0", "+5.", "1e100", "-1e-100", "NaN", "Inf", "0x1p-2", "1_0", "1e99999", "--1", "٣", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { wantCanonical(t, s) })
}

// FuzzSplit: whatever Split accepts joins to itself again.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"a", "a\x1fb", "a\x1f", "\x1f", "a\x1f\x1fb", "user:1\x1fx_y", "\xff", "a\x00b", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parts, err := keys.Split(s)
		if err != nil {
			wantPartError(t, err)
			return
		}
		if joined, err := keys.Join(parts...); err != nil || joined != s || len(parts) != 1+strings.Count(s, "\x1f") {
			t.Fatalf("%q: got %q, which joins to %q, %v", s, parts, joined, err)
		}
	})
}

// FuzzFromReverseTicks: whatever is accepted gives itself again.
func FuzzFromReverseTicks(f *testing.F) {
	for _, s := range []string{
		"2516299487998765439", "0000000000000000009", "3155378975999999999", "3155378976000000009",
		"2516299487998765430", "+516299487999999999", "", "1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := keys.FromReverseTicks(s)
		if err != nil {
			wantPartError(t, err)
			return
		}
		if again, err := keys.ReverseTicks(at); err != nil || again != s {
			t.Fatalf("%q is %v, which is %q, %v", s, at, again, err)
		}
	})
}

// FuzzRecipeHash: the message of whatever is accepted says what it is made of.
func FuzzRecipeHash(f *testing.F) {
	f.Add("templateId", "4523", "recipient.address", "+964 770 000 0001")
	for _, s := range []string{"", "=", "a=b", "\x1f", "\x1fb=", "\xff", "\u0085", "字", strings.Repeat("x", 300)} {
		f.Add("candidate.a", s, "candidate.b", "")
		f.Add(s, "", "candidate.b", s)
	}
	f.Fuzz(func(t *testing.T, path, value, path2, value2 string) {
		got, err := keys.RecipeHash(keys.RecipeSlot{Path: path, Value: value}, keys.RecipeSlot{Path: path2, Value: value2})
		if err != nil {
			wantPartError(t, err)
			return
		}
		message := path + "=" + value + "\x1f" + path2 + "=" + value2
		if sum := sha256.Sum256([]byte(message)); got != hex.EncodeToString(sum[:]) {
			t.Fatalf("%q has the hash %s", message, got)
		}
		first, second, _ := strings.Cut(message, "\x1f")
		p, v, _ := strings.Cut(first, "=")
		p2, v2, _ := strings.Cut(second, "=")
		if p != path || v != value || p2 != path2 || v2 != value2 {
			t.Fatalf("%q is also %q %q %q %q", message, p, v, p2, v2)
		}
	})
}
