// Package canonical gives JSON one spelling, so that the same value has the same hash
// whichever program wrote it. RFC 8785 is not used, since its numbers are floating-point
// ones: to it 9007199254740993 and 9007199254740992 are the same.
package canonical

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// JSON sorts the members of objects and writes each text in one way. Numbers stay as they
// are written.
func JSON(text []byte) ([]byte, error) {
	value, err := parse(text)
	if err != nil {
		return nil, err
	}
	return write(value)
}

// Exact is JSON with numbers in one spelling too: 1.50 and 15e-1 are the same, and none is
// rounded. It is for hashes: people do not read it.
func Exact(text []byte) ([]byte, error) {
	value, err := parse(text)
	if err != nil {
		return nil, err
	}
	return write(exact(value))
}

// Differing is the first member in which two texts differ.
type Differing struct {
	// Path is such as "order.lines[2].price"; empty where they differ as a whole, or one of
	// them is not JSON.
	Path string
	// Was and Is are both sides, if they are short and can be told: numbers, true, false, null
	// and "nothing" where a member is missing. Both are empty else, as texts may be anything.
	Was, Is string
}

// Difference compares two texts, members in the order of their names.
func Difference(a, b []byte) Differing {
	x, err := parse(a)
	if err != nil {
		return Differing{}
	}
	y, err := parse(b)
	if err != nil {
		return Differing{}
	}
	return difference("", x, y)
}

func parse(text []byte) (value any, err error) {
	var one json.RawMessage
	if err := json.Unmarshal(text, &one); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(one))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

func write(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(value) // it sorts the members
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// exact replaces the numbers in a value.
func exact(value any) any {
	switch v := value.(type) {
	case json.Number:
		return number(string(v))
	case map[string]any:
		for name, member := range v {
			v[name] = exact(member)
		}
	case []any:
		for i, element := range v {
			v[i] = exact(element)
		}
	}
	return value
}

// number writes a JSON number as an integer that does not end in 0, and a power of ten.
func number(text string) json.Number {
	unsigned, negative := strings.CutPrefix(text, "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(unsigned), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return "0"
	}
	exponent, ok := new(big.Int).SetString(power, 10)
	if !ok {
		exponent = new(big.Int) // there is none
	}
	exponent.Add(exponent, big.NewInt(int64(len(digits)-len(significant)-len(fraction))))
	if negative {
		significant = "-" + significant
	}
	return json.Number(significant + "e" + exponent.String())
}

func difference(path string, a, b any) Differing {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return Differing{Path: path}
		}
		names := slices.Concat(slices.Collect(maps.Keys(x)), slices.Collect(maps.Keys(y)))
		slices.Sort(names)
		for _, name := range names {
			at := strings.TrimPrefix(path+"."+name, ".")
			left, here := x[name]
			right, there := y[name]
			if here != there {
				return differing(at, left, right, here, there)
			}
			if !equal(left, right) {
				return difference(at, left, right)
			}
		}
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return Differing{Path: path}
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return difference(fmt.Sprintf("%s[%d]", path, i), x[i], y[i])
			}
		}
	}
	return differing(path, a, b, true, true)
}

// equal compares values whose numbers are written in any way.
func equal(a, b any) bool {
	x, err := write(exact(clone(a)))
	y, err2 := write(exact(clone(b)))
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// clone copies what exact changes.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = clone(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = clone(element)
		}
		return out
	}
	return value
}

func differing(path string, a, b any, here, there bool) Differing {
	was, ok := told(a, here)
	is, ok2 := told(b, there)
	if !ok || !ok2 {
		return Differing{Path: path}
	}
	return Differing{path, was, is}
}

// maxTold is how long a number may be that is told: a longer one may be a telephone's.
const maxTold = 6

// told is a value as a person may read it, who must not read what it says of others.
func told(value any, here bool) (text string, ok bool) {
	switch v := value.(type) {
	case json.Number:
		return string(v), len(v) <= maxTold
	case bool:
		return strconv.FormatBool(v), true
	case nil:
		if here {
			return "null", true
		}
		return "nothing", true
	}
	return "", false
}
