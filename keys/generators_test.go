package keys_test

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/keys"
	"pgregory.net/rapid"
)

// The generators are functions because rapid (1.3) names a generator when it
// is first used, so one that parallel tests share is a data race.

// traps are words that mean something to some format.
var traps = []string{
	"reminder", "threshold", "recurring", "instant", "2h", "scheduled", "manual", "host", "event", "report-subscription",
	"any", "source", "OncePerDay", "default", "2026-05-01", "30", "-1", "0", "0.9", "a@1", "a_b", "Campaign",
}

// goodText is mostly what a component accepts.
func goodText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom(traps),
		rapid.StringOfN(rapid.RuneFrom([]rune("aT019-_@. é字\u200d\ufffd")), 1, 8, -1),
	)
}

// badText is mostly what one refuses.
func badText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune(":01a\x1f\x00\x7f\u0085\n")), 0, 4, -1),
		rapid.SampledFrom([]string{"", ":", "a:", ":a", "threshold:a", "2026-05-01:30", "\xff", "a\x80", "a\xe5\xad", strings.Repeat("é", 101)}),
	)
}

// anyText is good nine times of ten, so that whole keys are often accepted.
func anyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 9).Draw(t, "bad") == 0 {
			return badText().Draw(t, "text")
		}
		return goodText().Draw(t, "text")
	})
}

func anyDate() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			n := rapid.IntRange(0, 3652058).Draw(t, "day")
			return time.Date(1, 1, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		}),
		rapid.SampledFrom([]string{"2024-02-29", "2026-02-29", "0000-01-01", "9999-12-31", "2026-13-01", "2026-5-1", "", "threshold"}),
	)
}

func anyInstant() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		seconds := rapid.OneOf(
			rapid.Int64Range(-62135596801, 253402300800),
			rapid.SampledFrom([]int64{-62135596801, -62135596800, 0, 253402300799, 253402300800}),
		).Draw(t, "seconds")
		nanos := rapid.SampledFrom([]int64{0, 0, 0, 0, 1, 999999999}).Draw(t, "nanos")
		offset := rapid.IntRange(-86399, 86399).Draw(t, "offset")
		return time.Unix(seconds, nanos).In(time.FixedZone("", offset))
	})
}

// anySpan is mostly one that a key can hold.
func anySpan() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		unit := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour, 1}).Draw(t, "unit")
		return time.Duration(rapid.Int64Range(-40000, 40000).Draw(t, "units")) * unit
	})
}

func anyPolicy() *rapid.Generator[keys.FiringPolicy] {
	return rapid.SampledFrom([]keys.FiringPolicy{
		keys.OncePerSource, keys.OncePerThreshold, keys.OncePerDay, keys.FalseToTrue, "", "once", "OncePerDay:x",
	})
}

// anyKey draws a value of each format, acceptable or not.
func anyKey() *rapid.Generator[keys.Parsed] {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) keys.Parsed {
			return keys.Reminder{Setting: draw(t), SourceType: draw(t), Source: draw(t), TriggerKey: draw(t),
				TargetDate: anyDate().Draw(t, "date"), OffsetDays: rapid.IntRange(-40000, 40000).Draw(t, "days")}
		}),
		rapid.Custom(func(t *rapid.T) keys.Parsed {
			return keys.Recurring{Setting: draw(t), SourceType: draw(t), Source: draw(t), TriggerKey: draw(t),
				Occurrence: anyInstant().Draw(t, "occurrence")}
		}),
		rapid.Custom(func(t *rapid.T) keys.Parsed {
			return keys.Instant{Setting: draw(t), SourceType: draw(t), Source: draw(t), TriggerKey: draw(t),
				Start: anyInstant().Draw(t, "start"), Before: anySpan().Draw(t, "before")}
		}),
		rapid.Custom(func(t *rapid.T) keys.Parsed { return drawThreshold(t) }),
		rapid.Custom(func(t *rapid.T) keys.Parsed {
			return keys.ReportRun{Subscription: draw(t), On: anyInstant().Draw(t, "on")}
		}),
		rapid.Custom(func(t *rapid.T) keys.Parsed {
			return keys.ManualReportRun{Subscription: draw(t), Run: draw(t)}
		}),
		rapid.Custom(func(t *rapid.T) keys.Parsed {
			return keys.Host{Type: draw(t), SourceType: draw(t), Source: draw(t), TriggerKey: draw(t)}
		}),
		rapid.Custom(func(t *rapid.T) keys.Parsed {
			k := keys.HostRun{Type: draw(t), SourceType: draw(t), Source: draw(t), TriggerKey: draw(t)}
			if rapid.Bool().Draw(t, "recurs") {
				k.On = anyInstant().Draw(t, "on")
			} else {
				k.Run = draw(t)
			}
			return k
		}),
		rapid.Custom(func(t *rapid.T) keys.Parsed {
			return keys.NotificationEvent{EntityType: draw(t), Entity: draw(t), EventType: draw(t), EventID: draw(t), NotificationType: draw(t)}
		}),
		rapid.Custom(func(t *rapid.T) keys.Parsed {
			return keys.SurveyInstance{Survey: rapid.Int64Range(-1, 1<<62).Draw(t, "survey"),
				Trigger: rapid.OneOf(rapid.Just(""), anyText()).Draw(t, "trigger"), Hash: rapid.OneOf(rapid.Just(recipeHash), anyText()).Draw(t, "hash")}
		}),
	)
}

func draw(t *rapid.T) string { return anyText().Draw(t, "part") }

// drawThreshold mostly lets the policy write value and scope, sometimes not.
func drawThreshold(t *rapid.T) keys.Threshold {
	k := keys.Threshold{Setting: draw(t), SourceType: draw(t), Source: draw(t), TriggerKey: draw(t),
		Metric: draw(t), Policy: anyPolicy().Draw(t, "policy"), Value: draw(t), ScopeKey: draw(t)}
	if rapid.IntRange(0, 4).Draw(t, "raw") == 0 {
		return k
	}
	value, scope, err := keys.Firing{Policy: k.Policy, Value: anyDecimal().Draw(t, "value"), Scope: draw(t),
		LocalDate: anyDate().Draw(t, "date"), Rises: rapid.Int64Range(0, 1<<62).Draw(t, "rises")}.Parts()
	if err == nil {
		k.Value, k.ScopeKey = value, scope
	}
	return k
}

func anyDecimal() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[-+]?[0-9]{0,5}\.?[0-9]{0,5}([eE][-+]?[0-9]{1,2})?`),
		rapid.SampledFrom([]string{"0.90", ".9", "9e-1", "-0", "NaN", "Inf", "0x1p4", "1_000", "1e101", "", " 1", "1,5", "٣"}),
	)
}

// acceptable is what the design says of a component of free text, written
// once more.
func acceptable(s string) bool {
	if s == "" || len(s) > 200 || !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r == ':' || r < 0x20 || 0x7f <= r && r <= 0x9f
	})
}
