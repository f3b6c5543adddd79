package form_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/survey/form"
)

const oneDay = 24 * time.Hour

func TestDurationsAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		length    time.Duration
		canonical string
	}{
		"0d": {0, "0d"}, "15m": {15 * time.Minute, "15m"}, "4h": {4 * time.Hour, "4h"}, "2d": {2 * oneDay, "2d"}, "1w": {7 * oneDay, "7d"},
		"60d": {60 * oneDay, "60d"}, "1d12h": {36 * time.Hour, "1d12h"}, "36h": {36 * time.Hour, "1d12h"}, "90m": {90 * time.Minute, "1h30m"},
		"1w2d3h4m": {9*oneDay + 3*time.Hour + 4*time.Minute, "9d3h4m"}, "0w0d0h0m": {0, "0d"}, "007d": {7 * oneDay, "7d"}, "1d0h5m": {oneDay + 5*time.Minute, "1d5m"},
		"106751d23h47m": {106751*oneDay + 23*time.Hour + 47*time.Minute, "106751d23h47m"}, // the longest
	} {
		got, err := form.ParseDuration(text)
		if err != nil || time.Duration(got) != want.length || got.String() != want.canonical {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestDurationsAreRefusedWithThePosition(t *testing.T) {
	t.Parallel()
	const order = "has its units not in the order w, d, h, m, each once"
	const unit = "has a unit that is not one of w, d, h and m"
	for text, want := range map[string]form.DurationError{
		"": {Position: 1, Problem: "is empty"}, "d": {Position: 1, Problem: "has no number there"}, "-1d": {Position: 1, Problem: "has no number there"},
		"+1d": {Position: 1, Problem: "has no number there"}, " 1d": {Position: 1, Problem: "has no number there"}, "1d-2h": {Position: 3, Problem: "has no number there"},
		"1dh": {Position: 3, Problem: "has no number there"}, "1d 12h": {Position: 3, Problem: "has no number there"}, "٣d": {Position: 1, Problem: "has no number there"},
		"5": {Position: 2, Problem: "ends without a unit: w, d, h or m"}, "1d12": {Position: 5, Problem: "ends without a unit: w, d, h or m"},
		"30s": {Position: 3, Problem: unit}, "1.5d": {Position: 2, Problem: unit}, "1D": {Position: 2, Problem: unit}, "1 d": {Position: 2, Problem: unit}, "1d2x": {Position: 4, Problem: unit},
		"1h1d": {Position: 4, Problem: order}, "1d1d": {Position: 4, Problem: order}, "5m1w": {Position: 4, Problem: order},
		"106751d23h48m": {Position: 11, Problem: "is too long"}, "15251w": {Position: 1, Problem: "is too long"},
		"99999999999999999999d": {Position: 1, Problem: "is too long"}, "9223372036854775807m": {Position: 1, Problem: "is too long"}, "1d99999999999999999999h": {Position: 3, Problem: "is too long"},
	} {
		want.Text = text
		_, err := form.ParseDuration(text)
		var got *form.DurationError
		if !errors.As(err, &got) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	_, err := form.ParseDuration("1h1d")
	if want := `survey: duration "1h1d" has its units not in the order w, d, h, m, each once (at position 4)`; err.Error() != want {
		t.Error(err)
	}
}

func TestDurationsInJSON(t *testing.T) {
	t.Parallel()
	read := form.Schedule{}
	if err := json.Unmarshal([]byte(`{"initialDelay": "36h", "reminders": ["1w", "0d"]}`), &read); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(read)
	if err != nil || string(written) != `{"initialDelay":"1d12h","reminders":["7d","0d"]}` {
		t.Errorf("%s, %v", written, err)
	}
	for _, text := range []string{"null", "5", `["1d"]`, `""`, `"1x"`} {
		d := form.Duration(7)
		if err := json.Unmarshal([]byte(text), &d); err == nil && text != "null" || d != 7 {
			t.Errorf("%s: %v, %v", text, d, err)
		}
	}
	for _, d := range []time.Duration{-oneDay, time.Second, oneDay + 1} {
		if text, err := json.Marshal(form.Duration(d)); err == nil {
			t.Errorf("%v became %s", d, text)
		}
		if got := form.Duration(d).String(); got != d.String() {
			t.Errorf("%v is shown as %s", d, got)
		}
	}
}

// Whatever is accepted has one canonical text, which is the same length.
func FuzzDuration(f *testing.F) {
	for _, text := range []string{"0d", "15m", "1w2d3h4m", "106751d23h47m", "106751d23h48m", "1d1d", "-1d", "1.5h", "", "d", "٣d", "9223372036854775807w"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := form.ParseDuration(text)
		if err != nil {
			var fault *form.DurationError
			if !errors.As(err, &fault) || fault.Position < 1 || fault.Position > len(text)+1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := form.ParseDuration(d.String())
		if err != nil || again != d || d < 0 || again.String() != d.String() {
			t.Fatalf("%q is %v, which is %v, %v", text, d, again, err)
		}
	})
}

func ExampleParseDuration() {
	for _, text := range []string{"1w", "36h", "0d", "1d2d"} {
		d, err := form.ParseDuration(text)
		fmt.Println(d, time.Duration(d), err)
	}
	// Output:
	// 7d 168h0m0s <nil>
	// 1d12h 36h0m0s <nil>
	// 0d 0s <nil>
	// 0d 0s survey: duration "1d2d" has its units not in the order w, d, h, m, each once (at position 4)
}
