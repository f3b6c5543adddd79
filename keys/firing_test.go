package keys_test

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
)

var firing = keys.Firing{Value: "0.90", Scope: "room-1", LocalDate: "2026-03-01", Rises: 3}

// change is what may happen to a condition that fired already.
type change struct {
	name string
	to   func(*keys.Firing)
}

var changes = []change{
	{"value", func(f *keys.Firing) { f.Value = "0.95" }},
	{"spelling", func(f *keys.Firing) { f.Value = "9e-1" }},
	{"scope", func(f *keys.Firing) { f.Scope = "room-2" }},
	{"day", func(f *keys.Firing) { f.LocalDate = "2026-03-02" }},
	{"rise", func(f *keys.Firing) { f.Rises++ }},
}

// TestEachPolicyFiresAgainForItsOwnReasons is the table that tells the four
// policies from one another: a change makes a new key only where it is listed.
func TestEachPolicyFiresAgainForItsOwnReasons(t *testing.T) {
	t.Parallel()
	for policy, reasons := range map[keys.FiringPolicy]string{
		keys.OncePerSource:    "",
		keys.OncePerThreshold: "value scope",
		keys.OncePerDay:       "value scope day",
		keys.FalseToTrue:      "value scope rise",
	} {
		for _, change := range changes {
			again := firing
			change.to(&again)
			fires := thresholdKey(t, policy, firing) != thresholdKey(t, policy, again)
			if want := strings.Contains(reasons, change.name); fires != want {
				t.Errorf("%s after another %s: fires again %v, want %v", policy, change.name, fires, want)
			}
		}
	}
}

func thresholdKey(t *testing.T, policy keys.FiringPolicy, f keys.Firing) string {
	t.Helper()
	f.Policy = policy
	value, scopeKey, err := f.Parts()
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.Threshold{Setting: "s1", SourceType: "class", Source: "7", TriggerKey: "default",
		Metric: "occupancy", Value: value, Policy: policy, ScopeKey: scopeKey}.Key()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestFiringParts(t *testing.T) {
	t.Parallel()
	for policy, want := range map[keys.FiringPolicy][2]string{
		keys.OncePerSource:    {"any", "source"},
		keys.OncePerThreshold: {"0.9", "room-1"},
		keys.OncePerDay:       {"0.9", "room-1@2026-03-01"},
		keys.FalseToTrue:      {"0.9", "room-1@3"},
	} {
		f := firing
		f.Policy = policy
		value, scopeKey, err := f.Parts()
		if err != nil || value != want[0] || scopeKey != want[1] {
			t.Errorf("%s: got %q, %q, %v, want %q", policy, value, scopeKey, err, want)
		}
	}
}

// TestFiringOfAKeyGivesItsParts: for every policy, what a key says is enough to
// build its parts again.
func TestFiringOfAKeyGivesItsParts(t *testing.T) {
	t.Parallel()
	for policy, want := range map[keys.FiringPolicy]keys.Firing{
		keys.OncePerSource:    {Policy: keys.OncePerSource},
		keys.OncePerThreshold: {Policy: keys.OncePerThreshold, Value: "0.9", Scope: "room-1"},
		keys.OncePerDay:       {Policy: keys.OncePerDay, Value: "0.9", Scope: "room-1", LocalDate: "2026-03-01"},
		keys.FalseToTrue:      {Policy: keys.FalseToTrue, Value: "0.9", Scope: "room-1", Rises: 3},
	} {
		parsed, err := keys.Parse(thresholdKey(t, policy, firing))
		if err != nil {
			t.Fatal(err)
		}
		key := parsed.(keys.Threshold)
		value, scopeKey, err := key.Firing().Parts()
		if got := key.Firing(); got != want || err != nil || value != key.Value || scopeKey != key.ScopeKey {
			t.Errorf("%s: %+v gives %q, %q, %v", policy, got, value, scopeKey, err)
		}
	}
}

func TestFiringRefuses(t *testing.T) {
	t.Parallel()
	for problem, f := range map[string]keys.Firing{
		"firingPolicy: is not one of":                    {Value: "1", Scope: "a"},
		`firingPolicy "onceperday": is not one of`:       {Policy: "onceperday", Value: "1", Scope: "a"},
		"scope: holds '@' at byte 1":                     {Policy: keys.OncePerThreshold, Value: "1", Scope: "a@1"},
		"scope: holds '@' at byte 0":                     {Policy: keys.OncePerDay, Value: "1", Scope: "@", LocalDate: "2026-03-01"},
		"scope: holds '@' at byte 2":                     {Policy: keys.FalseToTrue, Value: "1", Scope: "aa@", Rises: 1},
		"scope: holds ':' at byte 1":                     {Policy: keys.OncePerThreshold, Value: "1", Scope: "a:1"},
		"scope: is empty":                                {Policy: keys.OncePerThreshold, Value: "1"},
		"thresholdValue: is empty":                       {Policy: keys.OncePerThreshold, Scope: "a"},
		`thresholdValue "NaN": is not a decimal number`:  {Policy: keys.FalseToTrue, Value: "NaN", Scope: "a", Rises: 1},
		"localDate: is empty":                            {Policy: keys.OncePerDay, Value: "1", Scope: "a"},
		`localDate "2026-02-30": is not a date`:          {Policy: keys.OncePerDay, Value: "1", Scope: "a", LocalDate: "2026-02-30"},
		`rises "0": must be 1 or more`:                   {Policy: keys.FalseToTrue, Value: "1", Scope: "a"},
		`rises "-1": must be 1 or more`:                  {Policy: keys.FalseToTrue, Value: "1", Scope: "a", Rises: -1},
		"scope: has 199 bytes, more than 189":            {Policy: keys.OncePerDay, Value: "1", Scope: strings.Repeat("a", 199), LocalDate: "2026-03-01"},
		"scope: holds the control character U+001F at b": {Policy: keys.OncePerThreshold, Value: "1", Scope: "\x1f"},
	} {
		value, scopeKey, err := f.Parts()
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%+v: got %q, %q, %v, want an error with %q", f, value, scopeKey, err, problem)
			continue
		}
		wantPartError(t, err)
	}
}

// TestOncePerSourceLooksAtNothingElse: a provider may leave the rest empty.
func TestOncePerSourceLooksAtNothingElse(t *testing.T) {
	t.Parallel()
	if _, _, err := (keys.Firing{Policy: keys.OncePerSource}).Parts(); err != nil {
		t.Error(err)
	}
}
