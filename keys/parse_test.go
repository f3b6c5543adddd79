package keys_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestI20_ParseGivesBackWhatBuilt is the property that shows the formats to
// be injective; searching for collisions does not find them.
func TestI20_ParseGivesBackWhatBuilt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, x := range rapid.SliceOfN(anyKey(), 1, 20).Draw(t, "keys") {
			key, err := x.Key()
			if err != nil {
				wantPartError(t, err)
				continue
			}
			got, err := keys.Parse(key)
			if err != nil {
				t.Fatalf("%#v built %q, which is refused: %v", x, key, err)
			}
			if diff := cmp.Diff(x, got); diff != "" {
				t.Fatalf("%q (-built +parsed):\n%s", key, diff)
			}
		}
	})
}

// TestI20_EveryAcceptedTextIsRebuilt edits keys, so that much of what Parse
// sees is nearly one.
func TestI20_EveryAcceptedTextIsRebuilt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		components := strings.Split(rapid.SampledFrom(vectors[:16]).Draw(t, "vector").want, ":")
		for range rapid.IntRange(0, 2).Draw(t, "edits") {
			i := rapid.IntRange(0, len(components)-1).Draw(t, "at")
			components[i] = rapid.OneOf(anyText(), anyDate(), anyDecimal()).Draw(t, "component")
		}
		wantRebuilt(t, strings.Join(components, ":"))
	})
}

// wantRebuilt demands that key is refused or is exactly what its value builds.
func wantRebuilt(t rapid.TB, key string) {
	t.Helper()
	parsed, err := keys.Parse(key)
	if err != nil {
		wantPartError(t, err)
		return
	}
	if again, err := parsed.Key(); err != nil || again != key {
		t.Fatalf("%q was parsed as %#v, which builds %q, %v", key, parsed, again, err)
	}
}

func wantPartError(t rapid.TB, err error) {
	t.Helper()
	var refused *keys.PartError
	if !errors.As(err, &refused) || refused.Kind == "" || refused.Problem == "" {
		t.Fatalf("got %v, want a *PartError with kind and problem", err)
	}
	if len(err.Error()) > 300 || len(refused.Value) > 32 {
		t.Fatalf("error shows too much: %v", err)
	}
}

func TestI20_RefusedTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, problem string }{
		{"", "must begin with"},
		{"Reminder:s:t:1:k:2026-05-01:30", "must begin with"},
		{strings.Repeat("a", 513), "has 513 bytes, more than 512"},
		{"reminder", "has 1 components, want 7"},
		{"reminder:s:t:1:k:2026-05-01", "has 6 components, want 7"},
		{"reminder:s:t:1:k:2026-05-01:", "offsetDays: is not a whole number"},
		{"reminder:s:t:1:k:2026-05-01:30:1", `offsetDays "30:1": is not a whole number`},
		{"reminder:s:t:1:k:2026-05-01:+30", `offsetDays "+30": is not a whole number`},
		{"reminder:s:t:1:k:2026-05-01:030", `offsetDays "030": is not a whole number`},
		{"reminder:s:t:1:k:2026-05-01:-0", `offsetDays "-0": is not a whole number`},
		{"reminder:s:t:1:k:2026-05-01:36526", `offsetDays "36526": is more than 36525 days away`},
		{"reminder:s:t:1:k:2026-05-01:-36526", `offsetDays "-36526": is more than 36525 days away`},
		{"reminder:s:t:1:k:2026-02-29:30", `targetDate "2026-02-29": is not a date that exists`},
		{"reminder::t:1:k:2026-05-01:30", "setting: is empty"},
		{"reminder:s:t:1:k:recurring:2026-03-01T08:00:00.5Z", "occurrence \"2026-03-01T08:00:00.5Z\": must be an instant"},
		{"reminder:s:t:1:k:recurring:2026-03-01T8:00:00Z", "must be an instant"},
		{"reminder:s:t:1:k:recurring:2026-03-01T08:00:00+00:00", "must be an instant"},
		{"reminder:s:t:1:k:recurring:2026-03-01T24:00:00Z", "must be an instant"},
		{"reminder:s:t:1:k:recurring:0000-03-01T08:00:00Z", "is outside the years 1 to 9999"},
		{"reminder:s:t:1:k:recurring:0001-01-01T00:00:00Z", "is not set"},
		{"reminder:s:t:1:k:instant:2026-03-01T08:00:00Z", `startUtc "2026-03-01T08:00": must be an instant`},
		{"reminder:s:t:1:k:instant:now", `startUtc "now": must be an instant`},
		{"reminder:s:t:1:k:instant:2026-03-01T08:00:00Z:", "before: must be a duration"},
		{"reminder:s:t:1:k:instant:2026-03-01T08:00:00Z:120m", `before "120m": must be a duration`},
		{"reminder:s:t:1:k:instant:2026-03-01T08:00:00Z:2h0m", `before "2h0m": must be a duration`},
		{"reminder:s:t:1:k:instant:2026-03-01T08:00:00Z:+2h", `before "+2h": must be a duration`},
		{"reminder:s:t:1:k:instant:2026-03-01T08:00:00Z:0", `before "0": must be a duration`},
		{"reminder:s:t:1:k:instant:2026-03-01T08:00:00Z:1h0.5s", `before "1h0.5s": must be a duration`},
		{"reminder:s:t:1:k:instant:2026-03-01T08:00:00Z:500ms", `before "500ms": has a fraction of a second`},
		{"reminder:s:t:1:k:instant:2026-03-01T08:00:00Z:876601h", `before "876601h": is more than 36525 days`},
		{"reminder:s:t:1:k:instant:0001-01-01T00:00:00Z:2h", "startUtc \"0001-01-01T00:00:00Z\": is not set"},
		{"reminder:s:t:1:k:threshold:m:0.9:OncePerThreshold", "has 3 components, want 4"},
		{"reminder:s:t:1:k:threshold:m:0.90:OncePerThreshold:a", `thresholdValue "0.90": must be written "0.9" under OncePerThreshold`},
		{"reminder:s:t:1:k:threshold:m:0.9:OncePerSource:source", `must be written "any" under OncePerSource`},
		{"reminder:s:t:1:k:threshold:m:any:OncePerSource:a", "scopeKey: is not as OncePerSource writes it"},
		{"reminder:s:t:1:k:threshold:m:0.9:OncePerThreshold:a:b", "scope: holds ':' at byte 1"},
		{"reminder:s:t:1:k:threshold:m:0.9:OncePerThreshold:a@1", "scope: holds '@' at byte 1"},
		{"reminder:s:t:1:k:threshold:m:0.9:OncePerDay:a", "localDate: is empty"},
		{"reminder:s:t:1:k:threshold:m:0.9:OncePerDay:a@b@2026-03-01", `localDate "b@2026-03-01": is not a date that exists`},
		{"reminder:s:t:1:k:threshold:m:0.9:FalseToTrue:a@0", `rises "0": must be 1 or more`},
		{"reminder:s:t:1:k:threshold:m:0.9:FalseToTrue:a@01", "scopeKey: is not as FalseToTrue writes it"},
		{"reminder:s:t:1:k:threshold:m:0.9:FalseToTrue:a@9223372036854775808", "scopeKey: is not as FalseToTrue writes it"},
		{"reminder:s:t:1:k:threshold:m:0.9:Daily:a", `firingPolicy "Daily": is not one of`},
		{"report-subscription:6f1c", "has 2 components, want 4"},
		{"report-subscription:6f1c:later:1", "is neither scheduled nor manual"},
		{"report-subscription:6f1c:manual:a:b", "run: holds ':' at byte 1"},
		{"report-subscription:6f1c:scheduled:2026-03-01", "must be an instant"},
		{"host:a:b:c", "has 4 components, want 5"},
		{"host:a:b:c:d:e", "triggerKey: holds ':' at byte 1"},
		{"host:a:b:c\x1f:d", "source: holds the control character U+001F at byte 1"},
		{"host:a:b:c:d:recurring:2026-03-01", "must be an instant"},
		{"host:a:b:c:d:recurring:0001-01-01T00:00:00Z", "is not set"},
		{"host:a:b:c:d:manual:", "occurrence"},
		{"host:a:b:c:d:manual:e:f", "run: holds ':' at byte 1"},
		{"host:a:b:c:d:yearly:e", "triggerKey: holds ':' at byte 1"},
		{"event:a:b:c:d", "has 5 components, want 6"},
		{"event:a:b:c:d:\xff", "notificationType: is not valid UTF-8 at byte 0"},
		{"survey:1", "has 2 components, want 3 or 4"},
		{"survey:1:a:b:" + recipeHash, "has 5 components, want 3 or 4"},
		{"survey:01:" + recipeHash, `survey "01": is not a whole number`},
		{"survey:0:" + recipeHash, `survey "0": must be 1 or more`},
		{"survey:1::" + recipeHash, "trigger: is empty"},
		{"survey:1:a\x1f:" + recipeHash, "trigger: holds the control character U+001F at byte 1"},
		{"survey:1:a:" + recipeHash[1:], "is not 64 lower-case hex digits"},
		{"survey:1:a:" + strings.ToUpper(recipeHash), "is not 64 lower-case hex digits"},
	} {
		parsed, err := keys.Parse(c.key)
		if err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%q: got %#v, %v, want an error with %q", c.key, parsed, err, c.problem)
		}
	}
}
