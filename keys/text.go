package keys

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits in bytes. They keep (scope, key) well inside what a PostgreSQL index
// entry can hold (2704 bytes).
const (
	MaxPartLen     = 200  // one component of a key
	MaxKeyLen      = 512  // a whole key
	MaxIdentityLen = 2048 // several keys joined, see Join
)

// textProblem says why s cannot be a part of a key, or "" if it can. It must be
// non-empty, at most limit bytes, valid UTF-8, and without control characters and the
// runes in forbidden.
func textProblem(s string, limit int, forbidden string) string {
	if s == "" {
		return "is empty"
	}
	if p := lengthProblem(s, limit); p != "" {
		return p
	}
	if printable(s) && !strings.ContainsAny(s, forbidden) {
		return ""
	}
	for i, r := range s {
		if p := runeProblem(s[i:], r, forbidden); p != "" {
			return fmt.Sprintf("%s at byte %d", p, i)
		}
	}
	return ""
}

// printable reports whether s is printable ASCII, as most texts are.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func lengthProblem(s string, limit int) string {
	if len(s) > limit {
		return fmt.Sprintf("has %d bytes, more than %d", len(s), limit)
	}
	return ""
}

// runeProblem looks at r, the first rune of rest. A RuneError of width one is
// a broken encoding; one of width three is U+FFFD itself, which is allowed.
func runeProblem(rest string, r rune, forbidden string) string {
	if r == utf8.RuneError {
		if _, width := utf8.DecodeRuneInString(rest); width == 1 {
			return "is not valid UTF-8"
		}
	}
	if unicode.IsControl(r) {
		return fmt.Sprintf("holds the control character %U", r)
	}
	if strings.ContainsRune(forbidden, r) {
		return fmt.Sprintf("holds %q", r)
	}
	return ""
}

// dateProblem says why s is not a civil date, or "" if it is.
func dateProblem(s string) string {
	if s == "" {
		return "is empty"
	}
	d, err := time.Parse(time.DateOnly, s)
	if err != nil || d.Year() < 1 {
		return "is not a date that exists (want 2006-01-02)"
	}
	return ""
}

const (
	instantLayout   = "2006-01-02T15:04:05Z"
	outsideCalendar = "is outside the years 1 to 9999"
)

func formatInstant(t time.Time) string { return t.UTC().Format(instantLayout) }

// instantProblem says why t cannot be part of a key, or "" if it can. The zero time is
// refused, since it is an unset field.
func instantProblem(t time.Time) string {
	switch {
	case t.IsZero():
		return "is not set"
	case !inCalendar(t):
		return outsideCalendar
	case t.Nanosecond() != 0:
		return "has a fraction of a second"
	}
	return ""
}

// inCalendar reports whether t, in UTC, lies in the years 1 to 9999.
func inCalendar(t time.Time) bool {
	year := t.UTC().Year()
	return 1 <= year && year <= 9999
}

// parseInstant accepts only what formatInstant writes; time.Parse also accepts fractions
// and one-digit hours.
func parseInstant(kind, part, s string) (time.Time, error) {
	t, err := time.Parse(instantLayout, s)
	if err != nil || formatInstant(t) != s {
		return time.Time{}, &PartError{Kind: kind, Part: part, Value: excerpt(s),
			Problem: "must be an instant in UTC with whole seconds (want " + instantLayout + ")"}
	}
	return t, nil
}

// formatSpan writes a length of time in whole hours, minutes and seconds, without
// those at its end that are zero.
func formatSpan(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Limits of [Decimal].
const (
	maxDecimalLen      = 64  // bytes of the canonical form
	maxDecimalExponent = 100 // as written, on both sides
)

const decimalDigits = "0123456789"

// Decimal returns the canonical spelling of a decimal number: without exponent, plus
// sign, redundant zeros, bare point or negative zero. So "0.90", ".9" and "9e-1" all
// become "0.9". Two texts have the same spelling exactly if they are the same number.
// Nothing is rounded.
//
// It refuses infinities, NaN, hexadecimal, digit separators, spaces, an exponent beyond
// 100, and a number of more than 64 bytes. The error is a [*PartError].
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
		return "", 0, "has an exponent that is not a number from -" + strconv.Itoa(maxDecimalExponent) + " to " + strconv.Itoa(maxDecimalExponent)
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
