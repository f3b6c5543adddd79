package keys

import (
	"strconv"
	"strings"
	"time"
)

// builder writes the components of one key in order and keeps the first
// problem, so that a format reads as the list of its components.
type builder struct {
	kind string
	text strings.Builder
	err  *PartError
}

// newBuilder starts a key of the given kind with its literal first component.
func newBuilder(kind, prefix string) *builder {
	b := &builder{kind: kind}
	b.text.Grow(128) // most are shorter
	b.text.WriteString(prefix)
	return b
}

func (b *builder) literal(word string) {
	b.text.WriteByte(':')
	b.text.WriteString(word)
}

// part writes a component of free text.
func (b *builder) part(name, value string) {
	if p := textProblem(value, MaxPartLen, ":"); p != "" {
		b.refuse(name, "", p)
		return
	}
	b.literal(value)
}

// origin writes the four components that all reminder formats share.
func (b *builder) origin(setting, sourceType, source, triggerKey string) {
	b.part("setting", setting)
	b.part("sourceType", sourceType)
	b.part("source", source)
	b.part("triggerKey", triggerKey)
}

func (b *builder) date(name, value string) {
	if p := dateProblem(value); p != "" {
		b.refuse(name, value, p)
		return
	}
	b.literal(value)
}

func (b *builder) instant(name string, t time.Time) {
	text := formatInstant(t)
	if p := instantProblem(t); p != "" {
		b.refuse(name, text, p)
		return
	}
	b.literal(text)
}

func (b *builder) days(name string, n int) {
	text := strconv.Itoa(n)
	if n < -MaxOffsetDays || n > MaxOffsetDays {
		b.refuse(name, text, "is more than "+strconv.Itoa(MaxOffsetDays)+" days away")
		return
	}
	b.literal(text)
}

// refuse keeps the first problem; value is shown, so it is "" for free text.
func (b *builder) refuse(name, value, problem string) {
	if b.err == nil {
		b.err = &PartError{Kind: b.kind, Part: name, Problem: problem, Value: excerpt(value)}
	}
}

func (b *builder) key() (string, error) {
	key := b.text.String()
	if p := lengthProblem(key, MaxKeyLen); p != "" {
		b.refuse("", "", p)
	}
	if b.err != nil {
		return "", b.err
	}
	return key, nil
}
