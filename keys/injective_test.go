package keys_test

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestI20_TriggerKeyWithAColonIsNoOtherKey is the collision that the formats
// have as the documents write them: both values would read
// reminder:s1:employee:7:first-aid:default:2026-05-01:30.
func TestI20_TriggerKeyWithAColonIsNoOtherKey(t *testing.T) {
	t.Parallel()
	for part, k := range map[string]keys.Reminder{
		"triggerKey": {Setting: "s1", SourceType: "employee", Source: "7", TriggerKey: "first-aid:default", TargetDate: "2026-05-01", OffsetDays: 30},
		"source":     {Setting: "s1", SourceType: "employee", Source: "7:first-aid", TriggerKey: "default", TargetDate: "2026-05-01", OffsetDays: 30},
	} {
		if key, err := k.Key(); err == nil || !strings.Contains(err.Error(), part+": holds ':'") {
			t.Errorf("got %q, %v, want an error that names %s", key, err, part)
		}
	}
}

// grouped builds a value from n components that it takes from words, joining what is too
// much with ':', so that one list of words gives several values with the same text unless
// the colons are refused.
func grouped(t *rapid.T, words []string) (keys.Parsed, bool) {
	kinds := map[int]func(c []string) keys.Parsed{
		2: func(c []string) keys.Parsed { return keys.ManualReportRun{Subscription: c[0], Run: c[1]} },
		4: func(c []string) keys.Parsed {
			return keys.Host{Type: c[0], SourceType: c[1], Source: c[2], TriggerKey: c[3]}
		},
		5: func(c []string) keys.Parsed {
			return keys.NotificationEvent{EntityType: c[0], Entity: c[1], EventType: c[2], EventID: c[3], NotificationType: c[4]}
		},
		6: func(c []string) keys.Parsed {
			return keys.Reminder{Setting: c[0], SourceType: c[1], Source: c[2], TriggerKey: c[3], TargetDate: c[4], OffsetDays: len(c[5])}
		},
		8: func(c []string) keys.Parsed {
			return keys.Threshold{Setting: c[0], SourceType: c[1], Source: c[2], TriggerKey: c[3],
				Metric: c[4], Value: c[5], Policy: keys.FiringPolicy(c[6]), ScopeKey: c[7]}
		},
	}
	n := rapid.SampledFrom([]int{2, 4, 5, 6, 8}).Draw(t, "components")
	if n > len(words) {
		return nil, false
	}
	var c []string
	for left := n; left > 0; left-- {
		take := 1
		if spare := len(words) - left; left == 1 {
			take = len(words)
		} else if spare > 0 {
			take += rapid.IntRange(0, min(spare, 2)).Draw(t, "joined")
		}
		c, words = append(c, strings.Join(words[:take], ":")), words[take:]
	}
	return kinds[n](c), true
}

// TestI20_TwoValuesNeverShareAKey draws values that would share one if a
// component could hold a separator.
func TestI20_TwoValuesNeverShareAKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "threshold", "2026-05-01", "any", "OncePerSource", "source", "manual"}), 2, 9).Draw(t, "words")
		owner := map[string]keys.Parsed{}
		for range 30 {
			x, ok := grouped(t, words)
			if !ok {
				continue
			}
			key, err := x.Key()
			if err != nil {
				continue
			}
			if other, taken := owner[key]; taken && !cmp.Equal(other, x) {
				t.Fatalf("%q is the key of %#v and of %#v", key, other, x)
			}
			owner[key] = x
		}
	})
}

// TestI20_UnequalRandomValuesHaveUnequalKeys is the plain search beside it,
// over all formats.
func TestI20_UnequalRandomValuesHaveUnequalKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		owner := map[string]keys.Parsed{}
		for _, x := range rapid.SliceOfN(anyKey(), 2, 30).Draw(t, "keys") {
			key, err := x.Key()
			if err != nil {
				continue
			}
			if other, taken := owner[key]; taken && !cmp.Equal(other, x) {
				t.Fatalf("%q is the key of %#v and of %#v", key, other, x)
			}
			owner[key] = x
		}
	})
}

// TestI20_RowsAreInjective takes notification rows and partitions apart again.
func TestI20_RowsAreInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at, id := anyInstant().Draw(t, "at"), draw(t)
		if row, err := keys.JobRow(at, id); err == nil {
			ticks, rest, _ := strings.Cut(row, "_")
			back, err := keys.FromReverseTicks(ticks)
			if err != nil || rest != id || !back.Equal(at.Truncate(1000)) {
				t.Fatalf("%q: got %v, %q, %v", row, back, rest, err)
			}
		}
		user, err := keys.UserPartition(id)
		if (err == nil) != acceptable(id) {
			t.Fatalf("user %q: got %q, %v", id, user, err)
		}
		employee, _ := keys.EmployeePartition(id)
		campaign, _ := keys.CampaignPartition(id)
		if err == nil && (user == employee || user == campaign || strings.TrimPrefix(user, "user:") != id) {
			t.Fatalf("%q, %q and %q are not apart", user, employee, campaign)
		}
	})
}
