package render

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"text/template"
)

// The functions that [walker] puts in; a template that names them itself gains
// nothing.
const (
	stepName   = "belfryStep"
	rangedName = "belfryRanged"
)

// meter counts what one execution costs.
type meter struct {
	ctx         context.Context
	steps, made int
}

func (m *meter) begin(ctx context.Context) { *m = meter{ctx: ctx} }

// funcs are those above, the builtin ones that make strings, and date.
func (m *meter) funcs() template.FuncMap {
	return template.FuncMap{
		stepName:   m.step,
		rangedName: ranged,
		"print":    func(args ...any) (string, error) { return m.sprint(fmt.Sprint, args) },
		"println":  func(args ...any) (string, error) { return m.sprint(fmt.Sprintln, args) },
		"printf":   m.printf,
		"html":     func(args ...any) (string, error) { return m.sprint(template.HTMLEscaper, args) },
		"js":       func(args ...any) (string, error) { return m.sprint(template.JSEscaper, args) },
		"date":     m.date,
		"urlquery": func(args ...any) (string, error) { return m.sprint(template.URLQueryEscaper, args) },
	}
}

// step is false, so that nothing is written.
func (m *meter) step(n int) (bool, error) {
	if n < 1 {
		n = maxSteps + 1
	}
	return false, m.charge(n)
}

func (m *meter) charge(n int) error {
	if m.steps += n; m.steps > maxSteps {
		return fmt.Errorf("%w: more than %d steps", ErrLimit, maxSteps)
	}
	return m.ctx.Err()
}

// ranged gives what a range may go through: what the data hold, and no count.
func ranged(v any) (any, error) {
	switch k := reflect.ValueOf(v).Kind(); k {
	case reflect.Invalid, reflect.Array, reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		return v, nil
	default:
		return nil, fmt.Errorf("%w: a range over a %s", ErrLimit, k)
	}
}

// size is how many bytes a value prints as; what is over any limit is not counted to
// its end.
func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case map[string]any:
		n := 0
		for k, x := range v {
			if n += len(k) + 2 + size(x); n > maxMade {
				break
			}
		}
		return n
	case []any:
		n := 0
		for _, x := range v {
			if n += 2 + size(x); n > maxMade {
				break
			}
		}
		return n
	}
	return len(fmt.Sprint(v))
}

func (m *meter) sprint(f func(...any) string, args []any) (string, error) {
	if err := m.make(len(args) + sum(args)); err != nil {
		return "", err
	}
	text := f(args...) // escapers make more of it
	if len(text) > maxMade {
		return "", m.make(len(text))
	}
	return text, nil
}

// printf has no widths of more than two digits, none from an argument, and no argument
// by its number.
func (m *meter) printf(format string, args ...any) (string, error) {
	verbs := strings.Count(format, "%")
	for _, verb := range strings.Split(format, "%")[1:] {
		flags := verb[:len(verb)-len(strings.TrimLeft(verb, "+-# 0123456789.*[]"))]
		if strings.ContainsAny(flags, "*[") || longNumber(flags) {
			return "", fmt.Errorf("%w: a width of printf", ErrLimit)
		}
	}
	if err := m.make(len(format) + min(verbs, maxMade)*100 + sum(args)); err != nil {
		return "", err
	}
	return fmt.Sprintf(format, args...), nil
}

func sum(args []any) (n int) {
	for _, a := range args {
		if n += size(a); n > maxMade {
			break
		}
	}
	return n
}

// longNumber reports a width or precision of more than two digits.
func longNumber(flags string) bool {
	digits := 0
	for _, r := range flags {
		if digits++; r < '0' || r > '9' {
			digits = 0
		}
		if digits > 2 {
			return true
		}
	}
	return false
}

// make charges for a string before it is made.
func (m *meter) make(n int) error {
	if m.made += n; n > maxMade || m.made > maxMadeAll {
		return fmt.Errorf("%w: a string of more than %d bytes, or too many of them", ErrLimit, maxMade)
	}
	return nil
}
