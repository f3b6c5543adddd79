package strictjson_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/strictjson"
)

// plainMenu is read by package json in the same way.
type plainMenu struct {
	Name   string      `json:"name"`
	Dishes []plainDish `json:"dishes,omitempty"`
	Best   *plainDish  `json:"best,omitempty"`
	Open   bool        `json:"open,omitempty"`
	Seats  int8        `json:"seats,omitempty"`
}

type plainDish struct {
	Name string `json:"name"`
}

// What is accepted is read as package json reads it; being strict refuses more, and
// never reads something else.
func FuzzDecode(f *testing.F) {
	f.Add(`{"name": "a", "dishes": [{"name": "b"}], "best": {"name": "\u00e9"}, "open": true, "seats": 5}`)
	f.Add(`{"name": "a", "name": "b"}`)
	f.Add(`{"name": null}`)
	f.Add(`{"seats": 1e2}`)
	f.Add(`[[[[`)
	f.Fuzz(func(t *testing.T, text string) {
		var got, want plainMenu
		if faults := strictjson.Decode([]byte(text), &got); len(faults) > 0 {
			return
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%q was accepted: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-json +strict):\n%s", text, diff)
		}
	})
}
