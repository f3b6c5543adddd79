package filter_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/internal/filter"
)

// values are what a decoder with UseNumber gives for an event.
func values(t testing.TB, object string) map[string]any {
	t.Helper()
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(object))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func parse(t testing.TB, text string) *filter.Filter {
	t.Helper()
	var f filter.Filter
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &f
}

// Each line of the tables in the package comment.
func TestConditions(t *testing.T) {
	t.Parallel()
	event := values(t, `{
		"text": "GR", "ten": "10", "tenth": "10.0", "empty": "", "date": "2026-05-14", "spaced": " 10", "word": "true",
		"n": 10, "n0": 10.0, "ne": 1e1, "big": 9007199254740993, "small": 0.10000000000000000001, "huge": 1e999999999,
		"yes": true, "no": false, "null": null, "list": ["a", 10, true], "none": [], "object": {"a": 1}
	}`)
	for path, conditions := range map[string]map[string]bool{
		"text": {
			`== "GR"`: true, `== "gr"`: false, `!= "GR"`: false, `!= "gr"`: true, `== true`: false, `== 10`: false, `!= 10`: true,
			`> "GQ"`: true, `> "GR"`: false, `>= "GR"`: true, `< "GS"`: true, `<= "GR"`: true, `< "GR"`: false, `> 5`: false, `< 5`: false,
			`in ["PM", "GR"]`: true, `in ["PM"]`: false, `notIn ["PM"]`: true, `notIn ["GR"]`: false,
			`contains "R"`: true, `contains "X"`: false, `contains 1`: false, `startsWith "G"`: true, `startsWith "R"`: false, `exists true`: true, `exists false`: false,
		},
		"ten":    {`== "10"`: true, `== "10.0"`: false, `== 10`: true, `== 10.0`: true, `!= 10`: false, `< "9"`: true, `< 9`: false, `> 9`: true, `in [10]`: true, `contains 10`: false},
		"tenth":  {`== "10"`: false, `== 10`: true, `>= 10`: true, `<= 10`: true},
		"empty":  {`== ""`: true, `!= ""`: false, `== 0`: false, `exists true`: true, `startsWith "a"`: false, `< "a"`: true},
		"date":   {`>= "2026-05-14"`: true, `< "2026-06-01"`: true, `< "2026-05-02"`: false},
		"spaced": {`== 10`: false, `!= 10`: true, `> 9`: false, `< 9`: false},
		"word":   {`== true`: false, `!= true`: true, `== "true"`: true},
		"n":      {`== 10`: true, `== 1e1`: true, `== "10"`: true, `== "10.00"`: true, `== "ten"`: false, `!= 10.0`: false, `> 9.99`: true, `>= 10`: true, `< 10.01`: true, `<= 9`: false, `== true`: false, `startsWith "1"`: false, `contains "1"`: false, `contains 10`: false},
		"n0":     {`== 10`: true, `== "10"`: true, `in [9, 10]`: true, `notIn [9, 10]`: false},
		"ne":     {`== 10`: true, `== 10.0`: true},
		"big":    {`== 9007199254740993`: true, `== 9007199254740992`: false, `> 9007199254740992`: true, `<= 9007199254740992`: false},
		"small":  {`== 0.1`: false, `> 0.1`: true, `< 0.10000000000000000002`: true},
		"huge":   {`== 1`: false, `!= 1`: true, `> 1`: false, `< 1`: false, `exists true`: true, `== "1e999999999"`: false},
		"yes":    {`== true`: true, `== false`: false, `!= true`: false, `== "true"`: false, `== 1`: false, `!= 1`: true, `in [true]`: true, `in [1, "true"]`: false, `> 0`: false, `< 2`: false},
		"no":     {`== false`: true, `== true`: false, `exists true`: true, `exists false`: false},
		"list":   {`contains "a"`: true, `contains 10.0`: true, `contains true`: true, `contains "b"`: false, `contains false`: false, `== "a"`: false, `!= "a"`: true, `in ["a"]`: false, `notIn ["a"]`: true, `exists true`: true, `> 0`: false, `startsWith "a"`: false},
		"none":   {`contains "a"`: false, `exists true`: true},
		"object": {`== "a"`: false, `!= "a"`: true, `contains "a"`: false, `exists true`: true},
	} {
		for condition, want := range conditions {
			check(t, event, path, condition, want)
		}
	}
	for _, missing := range []string{"missing", "null"} {
		for condition, want := range map[string]bool{
			`== ""`: false, `== false`: false, `== 0`: false, `!= "a"`: true, `!= 0`: true, `> 0`: false, `>= 0`: false, `< 0`: false, `<= 0`: false, `< "a"`: false,
			`in ["a", ""]`: false, `notIn ["a"]`: true, `contains "a"`: false, `startsWith "a"`: false, `exists true`: false, `exists false`: true,
		} {
			check(t, event, missing, condition, want)
		}
	}
	if !parse(t, `{"questionId": "text", "op": "exists"}`).Match(event) || parse(t, `{"questionId": "null", "op": "exists"}`).Match(event) {
		t.Error("exists without a value asks for something")
	}
}

func check(t *testing.T, event map[string]any, path, condition string, want bool) {
	t.Helper()
	op, value, _ := strings.Cut(condition, " ")
	f := parse(t, `{"questionId": "`+path+`", "op": "`+op+`", "value": `+value+`}`)
	if got := f.Match(event); got != want {
		t.Errorf("%s %s is %v", path, condition, got)
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	event := values(t, `{"a": 1}`)
	const yes, no = `{"questionId": "a", "op": "==", "value": 1}`, `{"questionId": "a", "op": "==", "value": 2}`
	for text, want := range map[string]bool{
		yes: true, no: false,
		`{"not": ` + no + `}`: true, `{"not": ` + yes + `}`: false,
		`{"all": [` + yes + `]}`: true, `{"all": [` + yes + `, ` + no + `]}`: false,
		`{"any": [` + no + `]}`: false, `{"any": [` + no + `, ` + yes + `]}`: true,
		`{"all": [` + yes + `, {"any": [` + no + `, {"not": ` + no + `}]}]}`: true,
	} {
		if got := parse(t, text).Match(event); got != want {
			t.Errorf("%s is %v", text, got)
		}
	}
	if !(*filter.Filter)(nil).Match(nil) {
		t.Error("no filter refuses")
	}
	if (&filter.Filter{}).Match(event) {
		t.Error("a filter that says nothing is true")
	}
}

func TestNumbersCompareExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
		ok   bool
	}{
		{"1", "1.0", 0, true}, {"-0", "0", 0, true}, {"-1", "-2", 1, true}, {"0.3", "0.29999999999999999", 1, true},
		{"9007199254740993", "9007199254740992", 1, true}, {"-5", "3", -1, true}, {"1e2", "99", 1, true},
		{"1e999999999", "1", 0, false}, {"1", "1e999999999", 0, false}, {"", "1", 0, false}, {"x", "1", 0, false}, {"1", " 1", 0, false},
	} {
		if got, ok := filter.CompareNumbers(c.a, c.b); got != c.want || ok != c.ok {
			t.Errorf("%s and %s: %d %v", c.a, c.b, got, ok)
		}
	}
}

// The order is that of exact fractions.
func TestNumbersCompareAsFractions(t *testing.T) {
	t.Parallel()
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,4})?(e-?[0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got, ok := filter.CompareNumbers(a, b); !ok || got != x.Cmp(y) {
			t.Fatalf("%s and %s: %d %v, want %d", a, b, got, ok, x.Cmp(y))
		}
	})
}
