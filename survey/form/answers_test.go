package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// allTypes has a question of each type.
func allTypes() *Definition {
	number := func(s string) *Number { n := Number(s); return &n }
	return &Definition{Questions: []Question{
		{ID: "name", Type: TextQuestion, MaxLength: 10},
		{ID: "story", Type: LongTextQuestion},
		{ID: "km", Type: NumberQuestion, Min: number("-1.5"), Max: number("300000")},
		{ID: "rate", Type: RatingQuestion},
		{ID: "again", Type: YesNoQuestion},
		{ID: "why", Type: TextQuestion, Required: true, When: &Filter{QuestionID: "again", Op: "==", Value: "no"}},
		{ID: "car", Type: ChoiceQuestion, Options: []Choice{{Value: "new"}, {Value: "used"}}},
		{ID: "extras", Type: MultipleQuestion, Options: []Choice{{Value: "a"}, {Value: "b"}, {Value: "c"}}, Min: number("2"), Max: number("2")},
		{ID: "on", Type: DateQuestion},
	}}
}

func TestAnswersHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		``:                                                 `{}`,
		` {} `:                                             `{}`,
		`{"name":"","rate":null,"extras":[]}`:              `{}`,
		`{"name":"  ","extras":[""],"km":" "}`:             `{}`,
		`{"rate":5,"name":"Sam"}`:                          `{"name":"Sam","rate":5}`,
		`{"rate":"5","km":"007.50"}`:                       `{"km":7.5,"rate":5}`,
		`{"rate":5.0,"km":-15e-1}`:                         `{"km":-1.5,"rate":5}`,
		`{"extras":["c","a"]}`:                             `{"extras":["a","c"]}`,
		`{"story":"one\r\ntwo\rthree"}`:                    `{"story":"one\ntwo\nthree"}`,
		`{"story":"\tindented"}`:                           `{"story":"\tindented"}`,
		`{"again":"yes","why":"hidden"}`:                   `{"again":"yes"}`,
		`{"why":["hidden, and no text"]}`:                  `{}`,
		`{"again":"no","why":"late"}`:                      `{"again":"no","why":"late"}`,
		`{"car":"used","on":"2026-02-28"}`:                 `{"car":"used","on":"2026-02-28"}`,
		`{"name":"a\u0000b\u007f","story":"\u001b\u0003"}`: `{"name":"ab"}`, // nothing but what cannot be seen is not an answer
		`{"name":"two\nl\u000bo\u2028t"}`:                  `{"name":"two l o t"}`,
		`{"story":"a\u000bb\u000cc\u0085d\u2028e\u2029\u2029f\tg\u0093\ufeffh"}`: `{"story":"a\nb\nc\nd\ne\n\nf\tgh"}`,
		`{"name":"\u0627\u0628","story":"<&>"}`:                                  `{"name":"اب","story":"\u003c\u0026\u003e"}`,
	} {
		a, err := allTypes().Accept(json.RawMessage(given))
		if err != nil {
			t.Errorf("%s: %v", given, err)
		} else if string(a.JSON) != want {
			t.Errorf("%s: %s, want %s", given, a.JSON, want)
		}
	}
}

func TestEveryFaultIsListedWithItsQuestion(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][]string{
		`[1]`:                 {": malformed"},
		`{"rate":5`:           {": malformed"},
		`null`:                {": malformed"},
		"{\"name\":\"\xff\"}": {": malformed"},
		`{"a":` + strings.Repeat(" ", maxSubmission) + `1}`: {": malformed"},
		`{"colour":"red","Rate":5}`:                         {"Rate: unknown", "colour: unknown"},
		`{"rate":1,"rate":2}`:                               {"rate: twice"},
		`{"again":"no"}`:                                    {"why: required"},
		`{"again":"no","why":" "}`:                          {"why: required"},
		`{"name":7,"km":"far","rate":[5],"again":true}`:     {"name: type", "km: type", "rate: type", "again: type"},
		`{"rate":4.5,"on":"2026-02-30","extras":{}}`:        {"rate: type", "extras: type", "on: type"},
		`{"rate":0,"km":-1.51}`:                             {"km: min", "rate: min"},
		`{"rate":6,"km":300000.01}`:                         {"km: max", "rate: max"},
		`{"rate":1e101,"km":1e999999999}`:                   {"km: type", "rate: type"},
		`{"again":"maybe","car":"old","extras":["a","d"]}`:  {"again: option", "car: option", "extras: option"},
		`{"extras":["a","a"]}`:                              {"extras: twice"},
		`{"extras":"a"}`:                                    {"extras: min"},
		`{"extras":["a","b","c"]}`:                          {"extras: max"},
		`{"name":"01234567890"}`:                            {"name: length"},
		`{"story":"` + strings.Repeat("ا", 4001) + `"}`:     {"story: length"},
	} {
		_, err := allTypes().Accept(json.RawMessage(given))
		var got []string
		if refused := (*AnswersError)(nil); errors.As(err, &refused) {
			for _, f := range refused.Faults {
				got = append(got, f.QuestionID+": "+string(f.Code))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.80s: %v\n%s", given, err, diff)
		}
	}
}

func TestI29_AFaultDoesNotSayWhatWasAnswered(t *testing.T) {
	t.Parallel()
	_, err := allTypes().Accept(json.RawMessage(`{"canary":"canary","name":"canary canary","km":"canary","car":"canary","extras":["canary"],"on":"canary"}`))
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

// What customers write has no bound but that of the submission; what is kept has. What
// the questions allow fits, or they cannot be published.
func TestAnswersFitIntoTheirEvent(t *testing.T) {
	t.Parallel()
	asked := func(n int) (*Definition, json.RawMessage) {
		d := &Definition{}
		all := map[string]string{}
		for i := range n {
			id := fmt.Sprint("q", i)
			d.Questions = append(d.Questions, Question{ID: id, Type: LongTextQuestion})
			all[id] = strings.Repeat("<", mostText) // six bytes each, as it is stored
		}
		raw, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return d, raw
	}
	d, raw := asked(43)
	a, err := d.Accept(raw)
	if err != nil || len(a.JSON) > d.MostAnswers() || d.MostAnswers() > MaxAnswers {
		t.Error(err, d.MostAnswers())
	}
	if d, raw = asked(44); d.MostAnswers() <= MaxAnswers {
		t.Error(d.MostAnswers())
	}
	if _, err = d.Accept(raw); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Error(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, faults := Parse(text); !strings.Contains(fmt.Sprint(faults), "give texts a maxLength") {
		t.Error(faults)
	}
	many := map[string]string{}
	for i := range 2000 {
		many[fmt.Sprint("q", i)] = "1"
	}
	if raw, err = json.Marshal(many); err != nil {
		t.Fatal(err)
	}
	_, err = d.Accept(raw)
	if refused := (*AnswersError)(nil); !errors.As(err, &refused) || len(refused.Faults) != maxFaults {
		t.Error(err)
	}
}

func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"rate":5,"name":"Sam"}`, `{"rate":"5","extras":["a","b"]}`, `{"again":"no","why":"late"}`, `{"km":-0.0}`,
		`{"on":"2026-02-29"}`, `{"story":"a\r\nb\u2028c"}`, `{"rate":1,"rate":2}`, `{"name":"\ud800"}`, `[]`, `{"km":1e100}`, "{\"name\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := allTypes()
		a, err := d.Accept(raw)
		if refused := (*AnswersError)(nil); err != nil {
			if !errors.As(err, &refused) || len(refused.Faults) == 0 || len(refused.Faults) > maxFaults {
				t.Fatal(err)
			}
			return
		}
		if len(a.JSON) > min(MaxAnswers, d.MostAnswers()) || len(a.Values) != len(a.Order) {
			t.Fatalf("%d bytes, %d values, %d in order", len(a.JSON), len(a.Values), len(a.Order))
		}
		b, err := d.Accept(a.JSON)
		if err != nil || b.Hash != a.Hash || string(b.JSON) != string(a.JSON) {
			t.Fatalf("%s is not its own spelling: %v", a.JSON, err)
		}
	})
}
