package canonical

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJSONHasOneSpelling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{ // JSON, Exact
		` { "b" : [ 1 , 2 ] , "a" : { "d" : null , "c" : true } } `: {`{"a":{"c":true,"d":null},"b":[1,2]}`, `{"a":{"c":true,"d":null},"b":[1e0,2e0]}`},
		`"\u00e9\u003c\/é"`:                   {`"é</é"`, `"é</é"`},
		`{"\u0061":1,"b":"\u000a"}`:           {`{"a":1,"b":"\n"}`, `{"a":1e0,"b":"\n"}`},
		`9007199254740993`:                    {`9007199254740993`, `9007199254740993e0`},
		`1.50`:                                {`1.50`, `15e-1`},
		`15E-1`:                               {`15E-1`, `15e-1`},
		`-0.0`:                                {`-0.0`, `0`},
		`1e+99999999999999999999`:             {`1e+99999999999999999999`, `1e99999999999999999999`},
		`-120e-1`:                             {`-120e-1`, `-12e0`},
		`0.00120`:                             {`0.00120`, `12e-4`},
		`null`:                                {`null`, `null`},
		`["` + strings.Repeat("x", 99) + `"]`: {`["` + strings.Repeat("x", 99) + `"]`, `["` + strings.Repeat("x", 99) + `"]`},
	} {
		plain, err := JSON([]byte(text))
		if err != nil {
			t.Error(err)
		}
		exact, err := Exact([]byte(text))
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, [2]string{string(plain), string(exact)}); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{"", "{", "1 2", "{}x", "01", "nul"} {
		if got, err := JSON([]byte(text)); err == nil {
			t.Errorf("%q became %s", text, got)
		}
		if got, err := Exact([]byte(text)); err == nil {
			t.Errorf("%q became %s", text, got)
		}
	}
}

func TestDifferenceNamesTheFirstMember(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want Differing
	}{
		{`{"a":1,"b":{"c":[1,{"d":2}]}}`, `{"b":{"c":[1,{"d":3}]},"a":1.0}`, Differing{"b.c[1].d", "2", "3"}},
		{`{"a":1}`, `{"a":1,"b":null}`, Differing{"b", "nothing", "null"}},
		{`{"a":1,"z":1}`, `{"a":1}`, Differing{"z", "1", "nothing"}},
		{`{"a":true}`, `{"a":false}`, Differing{"a", "true", "false"}},
		{`{"a":"Sam"}`, `{"a":"Kim"}`, Differing{Path: "a"}},
		{`{"a":[1,2]}`, `{"a":[1]}`, Differing{Path: "a"}},
		{`{"a":{"b":1}}`, `{"a":"b"}`, Differing{Path: "a"}},
		{`[1,2]`, `[1,3]`, Differing{"[1]", "2", "3"}},
		{`1`, `2`, Differing{"", "1", "2"}},
		{`{}`, `x`, Differing{}},
		{`x`, `{}`, Differing{}},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, Differing{Path: "a"}},
	} {
		if got := Difference([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %+v, want %+v", c.a, c.b, got, c.want)
		}
	}
}
