package keys_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestEveryTextComponentIsChecked puts each bad text into each component of
// each format; the error must name that component.
func TestEveryTextComponentIsChecked(t *testing.T) {
	t.Parallel()
	formats := map[string][]string{ // in the order in which build takes them
		"reminder":           {"setting", "sourceType", "source", "triggerKey"},
		"recurring":          {"setting", "sourceType", "source", "triggerKey"},
		"instant":            {"setting", "sourceType", "source", "triggerKey"},
		"threshold":          {"setting", "sourceType", "source", "triggerKey", "metricKey"},
		"report run":         {"subscription"},
		"manual report run":  {"subscription", "run"},
		"host":               {"type", "sourceType", "source", "triggerKey"},
		"host run":           {"type", "sourceType", "source", "triggerKey"},
		"notification event": {"entityType", "entity", "eventType", "eventId", "notificationType"},
	}
	bad := map[string]string{
		"": "is empty", "a:b": "holds ':' at byte 1", "a\xffb": "is not valid UTF-8 at byte 1",
		"é\x1f": "holds the control character U+001F at byte 2", "\x00": "holds the control character U+0000 at byte 0",
		"a\x7f": "holds the control character U+007F at byte 1", "a\u0085": "holds the control character U+0085 at byte 1",
		strings.Repeat("x", 201): "has 201 bytes, more than 200",
	}
	for kind, parts := range formats {
		for i, part := range parts {
			for text, problem := range bad {
				c := []string{"a", "b", "c", "d", "e"}
				c[i] = text
				_, err := build(kind, c).Key()
				want := &keys.PartError{Kind: kind, Part: part, Problem: problem}
				if diff := cmp.Diff(error(want), err); diff != "" {
					t.Errorf("%s with %.10q as %s (-want +got):\n%s", kind, text, part, diff)
				}
			}
		}
	}
}

func build(kind string, c []string) keys.Parsed {
	switch kind {
	case "reminder":
		return keys.Reminder{Setting: c[0], SourceType: c[1], Source: c[2], TriggerKey: c[3], TargetDate: "2026-05-01"}
	case "recurring":
		return keys.Recurring{Setting: c[0], SourceType: c[1], Source: c[2], TriggerKey: c[3], Occurrence: day.Truncate(time.Second)}
	case "instant":
		return keys.Instant{Setting: c[0], SourceType: c[1], Source: c[2], TriggerKey: c[3], Start: day.Truncate(time.Second)}
	case "threshold":
		return keys.Threshold{Setting: c[0], SourceType: c[1], Source: c[2], TriggerKey: c[3],
			Metric: c[4], Value: "any", Policy: keys.OncePerSource, ScopeKey: "source"}
	case "report run":
		return keys.ReportRun{Subscription: c[0], On: day.Truncate(time.Second)}
	case "manual report run":
		return keys.ManualReportRun{Subscription: c[0], Run: c[1]}
	case "host":
		return keys.Host{Type: c[0], SourceType: c[1], Source: c[2], TriggerKey: c[3]}
	case "host run":
		return keys.HostRun{Type: c[0], SourceType: c[1], Source: c[2], TriggerKey: c[3], Run: c[4]}
	}
	return keys.NotificationEvent{EntityType: c[0], Entity: c[1], EventType: c[2], EventID: c[3], NotificationType: c[4]}
}

// TestTextIsAcceptedExactlyByTheRule compares with the rule written anew.
func TestTextIsAcceptedExactlyByTheRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(anyText(), badText(), rapid.String()).Draw(t, "text")
		_, err := keys.Host{Type: "a", SourceType: "b", Source: s, TriggerKey: "d"}.Key()
		if (err == nil) != acceptable(s) {
			t.Fatalf("%q: got %v, want accepted = %v", s, err, acceptable(s))
		}
	})
}

func TestWholeKeyIsLimited(t *testing.T) {
	t.Parallel()
	k := keys.Host{Type: strings.Repeat("a", 200), SourceType: strings.Repeat("b", 200), Source: "c", TriggerKey: strings.Repeat("d", 103)}
	if key, err := k.Key(); err != nil || len(key) != keys.MaxKeyLen {
		t.Errorf("got %d bytes, %v, want %d", len(key), err, keys.MaxKeyLen)
	}
	k.TriggerKey += "d"
	if _, err := k.Key(); err == nil || err.Error() != "keys: host: has 513 bytes, more than 512" {
		t.Errorf("got %v", err)
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	for date, exists := range map[string]bool{
		"2024-02-29": true, "0001-01-01": true, "9999-12-31": true,
		"2026-02-29": false, "1900-02-29": false, "2026-04-31": false, "2026-13-01": false, "2026-00-10": false,
		"0000-01-01": false, "10000-01-01": false, "2026-5-1": false, "2026-05-01 ": false, "2026/05/01": false,
		"20260501": false, "2026-05-01T00:00:00Z": false, "": false,
	} {
		_, err := keys.Reminder{Setting: "a", SourceType: "b", Source: "c", TriggerKey: "d", TargetDate: date}.Key()
		if (err == nil) != exists {
			t.Errorf("%q: got %v, want accepted = %v", date, err, exists)
		}
	}
}

func TestInstantsThatNoKeyCanHold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, problem string
		on            time.Time
	}{
		{"zero", "is not set", time.Time{}},
		{"a nanosecond", "has a fraction of a second", time.Unix(0, 1)},
		{"year 10000", "is outside the years 1 to 9999", time.Unix(253402300800, 0)},
		{"year 0", "is outside the years 1 to 9999", time.Unix(-62135596801, 0)},
		{"far future", "is outside the years 1 to 9999", time.Unix(math.MaxInt64, 0)},
		{"far past", "is outside the years 1 to 9999", time.Unix(math.MinInt64, 0)},
	} {
		for _, k := range []keys.Parsed{
			keys.ReportRun{Subscription: "a", On: c.on},
			keys.Recurring{Setting: "a", SourceType: "b", Source: "c", TriggerKey: "d", Occurrence: c.on},
			keys.Instant{Setting: "a", SourceType: "b", Source: "c", TriggerKey: "d", Start: c.on, Before: time.Hour},
		} {
			var refused *keys.PartError
			if _, err := k.Key(); !errors.As(err, &refused) || refused.Problem != c.problem {
				t.Errorf("%s: got %v, want %q", c.name, err, c.problem)
			}
		}
	}
}

func TestSpansThatNoKeyCanHold(t *testing.T) {
	t.Parallel()
	century := keys.MaxOffsetDays * 24 * time.Hour
	for before, problem := range map[time.Duration]string{
		0: "", century: "", -century: "", time.Second: "", 90 * time.Minute: "",
		1: "has a fraction of a second", -time.Second / 2: "has a fraction of a second",
		century + time.Second: "is more than 36525 days", -century - time.Second: "is more than 36525 days",
		math.MinInt64: "has a fraction of a second", -2562047 * time.Hour: "is more than 36525 days",
	} {
		got := ""
		_, err := keys.Instant{Setting: "a", SourceType: "b", Source: "c", TriggerKey: "d", Start: time.Unix(0, 0), Before: before}.Key()
		if refused := (*keys.PartError)(nil); errors.As(err, &refused) {
			got = refused.Problem
		}
		if got != problem {
			t.Errorf("%s: got %v, want %q", before, err, problem)
		}
	}
}

// TestYearsAreThoseInUTC: the local year is another one.
func TestYearsAreThoseInUTC(t *testing.T) {
	t.Parallel()
	east := time.Date(10000, 1, 1, 1, 0, 0, 0, time.FixedZone("", 7200))
	if key, err := (keys.ReportRun{Subscription: "a", On: east}).Key(); key != "report-subscription:a:scheduled:9999-12-31T23:00:00Z" {
		t.Errorf("got %q, %v", key, err)
	}
}

// TestErrorsShowNoFreeText: ids may be personal, and an error ends in a log.
func TestErrorsShowNoFreeText(t *testing.T) {
	t.Parallel()
	const canary = "sam@example.com"
	_, a := keys.Host{Type: "a", SourceType: "b", Source: canary + ":", TriggerKey: "d"}.Key()
	_, b := keys.Parse("host:a:b:" + canary + "\x1f:d")
	_, c := keys.Join("a", canary+"\x1f")
	_, d := keys.UserPartition(canary + ":")
	_, e := keys.Threshold{Setting: "a", SourceType: "b", Source: "c", TriggerKey: "d", Metric: "e",
		Value: "1", Policy: keys.OncePerThreshold, ScopeKey: canary}.Key()
	_, f := keys.OutgoingMessageRow(canary, "email", 0)
	for _, err := range []error{a, b, c, d, e, f} {
		if err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("got %v, want an error without the text", err)
		}
	}
}

// TestErrorsCutLongValues also where the format is closed.
func TestErrorsCutLongValues(t *testing.T) {
	t.Parallel()
	_, err := keys.Reminder{Setting: "a", SourceType: "b", Source: "c", TriggerKey: "d", TargetDate: strings.Repeat("2026-", 1000)}.Key()
	const want = `keys: reminder: targetDate "2026-2026-2026-2026-2026-2026...": is not a date that exists (want 2006-01-02)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
