package keys

import (
	"fmt"
	"strings"
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

// textProblem says why s cannot stand between separators, or "" if it can:
// it must be non-empty, at most limit bytes, valid UTF-8, and without control
// characters and the runes in forbidden.
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
