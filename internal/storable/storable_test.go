package storable_test

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/storable"
)

func TestACodeIsShortAndPrintable(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", storable.MaxCode/2)
	for text, want := range map[string]string{
		"":                 "",
		"rate_limited":     "rate_limited",
		"a\x00b\r\nc\x7fd": "abcd",
		"a\xffb\xc3":       "ab",
		long:               long,
		long + "x":         long,
		"x" + long:         "x" + long[2:],
	} {
		if got := storable.Code(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestATextIsValidAndHoldsNoNUL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, "a\r\n\x7f é": true, "a\x00": false, "a\xff": false,
	} {
		if got := storable.Text(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
