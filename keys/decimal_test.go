package keys_test

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
	"pgregory.net/rapid"
)

func TestDecimal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0.90": "0.9", ".9": "0.9", "9e-1": "0.9", "+0.9": "0.9", "00.900": "0.9", "90E-2": "0.9", "0.09e+1": "0.9",
		"0": "0", "-0": "0", "+0": "0", "-0.00": "0", "0e99": "0", "000": "0", ".0": "0", "0.": "0",
		"5.": "5", "-5": "-5", "100": "100", "1e2": "100", "1.5e3": "1500", "12.50": "12.5", "-.5": "-0.5",
		"0.001": "0.001", "1e-3": "0.001", "10e-4": "0.001", "123.456e1": "1234.56", "123.456e-3": "0.123456",
		"1e63":                  "1" + strings.Repeat("0", 63),
		"0e0000000000000000001": "0",
		"9007199254740993":      "9007199254740993", // no float64
	} {
		if got, err := keys.Decimal(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestDecimalRefuses(t *testing.T) {
	t.Parallel()
	for in, problem := range map[string]string{
		"": "is empty", "-": "is not a decimal number", ".": "is not a decimal number", "+.": "is not a decimal number",
		"NaN": "is not a decimal number", "Inf": "is not a decimal number", "-inf": "is not a decimal number",
		"0x10": "is not a decimal number", "0x1p4": "is not a decimal number", "1_000": "is not a decimal number",
		"1,5": "is not a decimal number", " 1": "is not a decimal number", "1 ": "is not a decimal number",
		"1.2.3": "is not a decimal number", "--1": "is not a decimal number", "+-1": "is not a decimal number",
		"1/2": "is not a decimal number", "٣": "is not a decimal number", "1\x00": "is not a decimal number", "e5": "is not a decimal number",
		"1e": "has an exponent", "1e+": "has an exponent", "1e1.5": "has an exponent", "1e5e5": "has an exponent",
		"1e101": "has an exponent", "1e-101": "has an exponent", "1e99999999999999999999": "has an exponent", "Infinity": "is not a decimal number",
		"1e64": "has 65 bytes, more than 64", "1e-63": "has 65 bytes, more than 64", "-1e63": "has 65 bytes, more than 64",
		strings.Repeat("0", 201): "has 201 bytes, more than 200",
	} {
		got, err := keys.Decimal(in)
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: got %q, %v, want an error with %q", in, got, err, problem)
			continue
		}
		wantPartError(t, err)
	}
}

var canonicalForm = regexp.MustCompile(`^(0|-?([1-9][0-9]*|0)(\.[0-9]*[1-9])?)$`)

// wantCanonical compares with exact arithmetic.
func wantCanonical(t rapid.TB, in string) {
	t.Helper()
	got, err := keys.Decimal(in)
	if err != nil {
		wantPartError(t, err)
		return
	}
	want, ok := new(big.Rat).SetString(in)
	have, _ := new(big.Rat).SetString(got)
	if !ok || want.Cmp(have) != 0 {
		t.Fatalf("%q became %q, another number", in, got)
	}
	if !canonicalForm.MatchString(got) || got == "-0" || len(got) > 64 {
		t.Fatalf("%q became %q, which is not canonical", in, got)
	}
	if again, err := keys.Decimal(got); err != nil || again != got {
		t.Fatalf("%q became %q and then %q, %v", in, got, again, err)
	}
}

func TestDecimalIsTheSameNumberWrittenOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			wantCanonical(t, anyDecimal().Draw(t, "decimal"))
		}
	})
}
