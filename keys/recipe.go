package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
)

// RecipeSlot is one path of a dedup recipe, and what the event has there.
type RecipeSlot struct {
	Path  string // "candidate.wip"
	Value string // empty where the event has nothing
}

// RecipeHash tells one event from another: SHA-256 over path=value of each slot,
// in order, joined by U+001F, in 64 lower-case hex digits (Triggers & Scheduler,
// "Step 4 — building the dedup hash"). The paths are part of it, so that an empty
// value at one path differs from an empty value at another.
//
// Different slots have different messages: a path has neither '=' nor control
// characters and is at most [MaxPartLen] bytes, and a value has no control
// characters and is valid UTF-8. Anything else is refused, and so are no slots at
// all. The error is a [*PartError], which names the path and never the value.
func RecipeHash(slots ...RecipeSlot) (string, error) {
	if len(slots) == 0 {
		return "", &PartError{Kind: "recipe", Problem: "has no paths"}
	}
	message := make([]byte, 0, 512)
	for i, s := range slots {
		if p := textProblem(s.Path, MaxPartLen, "="); p != "" {
			return "", &PartError{Kind: "recipe", Part: "path " + strconv.Itoa(i+1), Problem: p}
		}
		if p := valueProblem(s.Value); p != "" {
			return "", &PartError{Kind: "recipe", Part: s.Path, Problem: p}
		}
		if i > 0 {
			message = append(message, separator...)
		}
		message = append(append(append(message, s.Path...), '='), s.Value...)
	}
	sum := sha256.Sum256(message)
	return hex.EncodeToString(sum[:]), nil
}

// valueProblem allows an empty text of any length.
func valueProblem(value string) string {
	if value == "" {
		return ""
	}
	return textProblem(value, math.MaxInt, "")
}
