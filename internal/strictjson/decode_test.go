package strictjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/strictjson"
)

// menu has a member of each kind.
type menu struct {
	Name   string       `json:"name"`
	Dishes []dish       `json:"dishes,omitempty"`
	Best   *dish        `json:"best,omitempty"`
	Open   bool         `json:"open,omitempty"`
	Seats  int8         `json:"seats,omitempty"`
	Price  json.Number  `json:"price,omitempty"`
	Mood   mood         `json:"mood,omitempty"`
	Since  time.Time    `json:"since,omitzero"`
	Extra  any          `json:"extra,omitempty"`
	Tax    *json.Number `json:"tax,omitempty"`
	Inside string       `json:"-"`
}

type dish struct {
	Name string `json:"name"`
}

// UnmarshalJSON is not called: a struct is read member by member.
func (*dish) UnmarshalJSON([]byte) error { return errors.New("called") }

// mood reads itself.
type mood string

func (m *mood) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"good"`:
		*m = "good"
		return nil
	case `"mixed"`:
		return strictjson.Faults{{Path: "left", Problem: "is good"}, {Problem: "is mixed"}}.Err()
	}
	return errors.New("is no mood")
}

func TestWhatIsRightIsRead(t *testing.T) {
	t.Parallel()
	var got menu
	faults := strictjson.Decode([]byte(` {"name": "a", "dishes": [{"name": "b"}, {"name": "c"}], "best": {"name": "c"}, "open": true,
		"seats": -8, "price": 9007199254740993.10, "mood": "good", "since": "2026-05-14T05:12:34Z",
		"extra": {"x": [1.0, "y", false]}, "tax": 1e2} `), &got)
	tax := json.Number("1e2")
	want := menu{
		Name: "a", Dishes: []dish{{"b"}, {"c"}}, Best: &dish{"c"}, Open: true, Seats: -8, Price: "9007199254740993.10",
		Mood: "good", Since: time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC),
		Extra: map[string]any{"x": []any{json.Number("1.0"), "y", false}}, Tax: &tax,
	}
	if diff := cmp.Diff(want, got); diff != "" || faults != nil {
		t.Error(faults, diff)
	}
}

func TestEveryFaultIsListedWithItsPath(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{}`: {"name: is missing"},
		`{"Name": "a", "seats": 128}`: {
			"Name: is unknown; it is spelled name", "seats: is the number 128, not a whole number", "name: is missing",
		},
		`{"name": 1, "dishes": [{}, 5, {"name": "x", "nam": 1}], "best": [], "open": "yes"}`: {
			"name: is the number 1, not a text", "dishes[0].name: is missing", "dishes[1]: is the number 5, not an object",
			"dishes[2].nam: is unknown", "best: is a list, not an object", `open: is the text "yes", not true or false`,
		},
		`{"name": "a", "dishes": {"name": "b"}, "seats": 1.5, "price": "1", "tax": true}`: {
			"dishes: is an object, not a list", "seats: is the number 1.5, not a whole number",
			`price: is the text "1", not a number`, "tax: is true, not a number",
		},
		`{"name": "a", "mood": "bad"}`:   {"mood: is no mood"},
		`{"name": "a", "mood": "mixed"}`: {"mood.left: is good", "mood: is mixed"},
		`{"name": null, "best": null, "dishes": [null]}`: {
			"name: is null; leave it out instead", "best: is null; leave it out instead", "dishes[0]: is null; leave it out instead",
		},
		`{"name": "a", "extra": {"x": {"a": 1, "a": 2}}, "name": "b"}`: {"extra.x.a: is there twice", "name: is there twice"},
		`{"name": "a", "a b": 1, "": 2, "Inside": "y"}`: {
			`["a b"]: is unknown`, `[""]: is unknown`, "Inside: is unknown",
		},
		`[]`:                         {"is a list, not an object"},
		`null`:                       {"is null; leave it out instead"},
		``:                           {"is not JSON: unexpected end of JSON input (line 1, column 1)"},
		`{"name": "a"} {}`:           {"is not JSON: invalid character '{' after top-level value (line 1, column 15)"},
		"{\n  \"name\": \"a\",\n  }": {"is not JSON: invalid character '}' looking for beginning of object key string (line 3, column 3)"},
		"{\"name\": \"\xff\"}":       {"is not valid UTF-8"},
		`{"name": "` + strings.Repeat("é", 100) + `", "open": "` + strings.Repeat("é", 100) + `"}`: {
			`open: is the text "` + strings.Repeat("é", 40) + `…", not true or false`,
		},
	} {
		var got []string
		for _, f := range strictjson.Decode([]byte(text), &menu{}) {
			got = append(got, f.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// What can be read is read, so that its contents can be checked too.
func TestAFaultDoesNotHideWhatIsRight(t *testing.T) {
	t.Parallel()
	var got menu
	strictjson.Decode([]byte(`{"what": 1, "name": "a", "dishes": [{"name": 5}, {"name": "b"}]}`), &got)
	if diff := cmp.Diff(menu{Name: "a", Dishes: []dish{{}, {"b"}}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDepthAndListAreBounded(t *testing.T) {
	t.Parallel()
	deep := func(n int) string {
		return `{"name": "a", "extra": ` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	if faults := strictjson.Decode([]byte(deep(strictjson.MaxDepth-1)), &menu{}); faults != nil {
		t.Error(faults)
	}
	for _, n := range []int{strictjson.MaxDepth, 5000} {
		faults := strictjson.Decode([]byte(deep(n)), &menu{})
		if len(faults) != 1 || faults[0].Problem != "is nested deeper than 64" {
			t.Error(n, faults)
		}
	}
	faults := strictjson.Decode([]byte(`{"dishes": [`+strings.Repeat("1,", 1000)+`1]}`), &menu{})
	if len(faults) != 100 {
		t.Errorf("%d faults are listed", len(faults))
	}
}

func TestAnErrorShowsAllFaults(t *testing.T) {
	t.Parallel()
	var f strictjson.Faults
	if f.Err() != nil {
		t.Error("no faults are an error")
	}
	f.Add("", "is %s", "bad")
	f.AddBelow("a[1]", strictjson.Faults{{Path: "b", Problem: "is worse"}, {Path: "[0]", Problem: "is odd"}})
	if got := f.Err().Error(); got != "is bad; a[1].b: is worse; a[1][0]: is odd" {
		t.Error(got)
	}
}
