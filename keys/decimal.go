package keys

import (
	"strconv"
	"strings"
)

// Limits of [Decimal].
const (
	maxDecimalLen      = 64  // bytes of the canonical form
	maxDecimalExponent = 100 // as written, on both sides
)

const decimalDigits = "0123456789"

// Decimal gives the one canonical spelling of a decimal number: no exponent,
// no plus sign, no zeros that mean nothing, no bare point, and no negative
// zero. So "0.90", ".9" and "9e-1" are all "0.9", and two texts have one
// spelling exactly if they are the same number; nothing is rounded.
//
// Refused are infinities, NaN, hexadecimal, digit separators, spaces, an
// exponent beyond 100, and a number that takes more than 64 bytes to write.
// The error is a [*PartError].
func Decimal(s string) (string, error) {
	canonical, problem := canonicalDecimal(s)
	if problem != "" {
		return "", &PartError{Kind: "decimal", Problem: problem, Value: excerpt(s)}
	}
	return canonical, nil
}

func canonicalDecimal(s string) (canonical, problem string) {
	if s == "" {
		return "", "is empty"
	}
	if p := lengthProblem(s, MaxPartLen); p != "" {
		return "", p
	}
	unsigned, negative := cutSign(s)
	mantissa, exponent, problem := cutExponent(unsigned)
	if problem != "" {
		return "", problem
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole+fraction == "" || !onlyDigits(whole+fraction) {
		return "", "is not a decimal number"
	}
	canonical = writeDecimal(whole+fraction, len(whole)+exponent)
	if negative && canonical != "0" {
		canonical = "-" + canonical
	}
	return canonical, lengthProblem(canonical, maxDecimalLen)
}

func cutSign(s string) (unsigned string, negative bool) {
	if s[0] == '-' || s[0] == '+' {
		return s[1:], s[0] == '-'
	}
	return s, false
}

func cutExponent(s string) (mantissa string, exponent int, problem string) {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, 0, ""
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < -maxDecimalExponent || n > maxDecimalExponent {
		return "", 0, "has an exponent that is no number from -" + strconv.Itoa(maxDecimalExponent) + " to " + strconv.Itoa(maxDecimalExponent)
	}
	return s[:i], n, ""
}

func onlyDigits(s string) bool {
	return strings.Trim(s, decimalDigits) == ""
}

// writeDecimal writes 0.digits times ten to the power of point.
func writeDecimal(digits string, point int) string {
	significant := strings.TrimLeft(digits, "0")
	point -= len(digits) - len(significant)
	significant = strings.TrimRight(significant, "0")
	n := len(significant)
	switch {
	case n == 0:
		return "0"
	case point <= 0:
		return "0." + strings.Repeat("0", -point) + significant
	case point >= n:
		return significant + strings.Repeat("0", point-n)
	}
	return significant[:point] + "." + significant[point:]
}
