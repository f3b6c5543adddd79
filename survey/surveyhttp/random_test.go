package surveyhttp_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// Whatever an author writes, customers without JavaScript are asked what the definition says, page
// by page, are told what is wrong, and lose nothing that they typed; what is stored, counted,
// listed and exported is what they said.
func TestRandomFormsFromTheDefinitionToTheExport(t *testing.T) {
	t.Parallel()
	forms := 40
	switch testlevel.Of(t) {
	case testlevel.Check:
		forms = 300
	case testlevel.Nightly:
		forms = 10_000
	}
	for seed := range uint64(forms) {
		m := newModelForm(rand.New(rand.NewPCG(seed, 1)))
		s := &randomStory{host: memoryHost(t), m: m, answers: map[string]map[string]any{}}
		s.publish(m.definition)
		for n := range survey.MinResponses + m.IntN(4) {
			s.customer(n)
		}
		s.drain()
		s.counted()
		s.exported()
		s.listed()
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, m.definition)
		}
	}
}

// randomStory is a form and who answered it, by public id.
type randomStory struct {
	*host
	m       *modelForm
	answers map[string]map[string]any
}

// customer answers a link, mostly by the form.
func (s *randomStory) customer(n int) {
	s.Helper()
	locale, token := "en", ""
	if s.m.open {
		link, err := s.survey.OpenLink(s.Context(), "tenant", 4523, "poster")
		if err != nil {
			s.Fatal(err)
		}
		token = link[strings.LastIndex(link, "/")+1:]
	} else {
		locale = []string{"en", "de", "ar"}[s.m.IntN(3)]
		token = s.visitOf(fmt.Sprintf(`{"wip": "%d", "city": "Cork"}`, n), survey.Recipient{Address: "a", Locale: locale, CustomerRef: fmt.Sprint("c", n)})
	}
	given := map[string]said{}
	if s.m.IntN(5) == 0 {
		s.program(token, given, locale, n)
	} else {
		s.browses(token, given, locale)
	}
	values, wrong, _ := s.m.answered(given)
	id, got := s.stored()
	if want := modelJSON(values); got != want || len(wrong) > 0 {
		s.Errorf("stored %s, want %s (%d wrong)", got, want, len(wrong))
	}
	s.answers[id] = values
}

// stored is the response that is new.
func (s *randomStory) stored() (id, answers string) {
	s.Helper()
	list, _, err := s.survey.Responses().List(s.Context(), "tenant", survey.ResponseQuery{SurveyID: 4523})
	if err != nil || len(list) != len(s.answers)+1 {
		s.Fatalf("%d responses, %d before: %v", len(list), len(s.answers), err)
	}
	i := slices.IndexFunc(list, func(r survey.StoredResponse) bool { _, known := s.answers[r.PublicID]; return !known })
	if r := list[i]; s.m.anonymous && (r.PublicID == s.publicID || r.TriggerID+r.CustomerRef+r.Locale != "" || r.SubmittedOn.Hour()+r.SubmittedOn.Minute() > 0) {
		s.Errorf("an anonymous response has %+v", r)
	}
	return list[i].PublicID, string(list[i].Answers)
}

// program sends the answers as JSON.
func (s *randomStory) program(token string, given map[string]said, locale string, n int) {
	s.Helper()
	for _, q := range s.m.questions {
		given[q.id] = s.m.right(q, locale)
	}
	sent := map[string]any{}
	for id, t := range given {
		sent[id] = t.stored
	}
	body, err := json.Marshal(map[string]any{"answers": sent})
	if err != nil {
		s.Fatal(err)
	}
	resp := call(s, s.forms, "POST", "/SurveyInstances/"+token+"/responses", string(body), "Content-Type", "application/json", "Idempotency-Key", fmt.Sprint("program ", n))
	if resp.Status != http.StatusOK {
		s.Errorf("%s: %d %s", body, resp.Status, resp.Body)
	}
}

// browses goes through the pages of the form until it is taken. given has what was sent by then.
func (s *randomStory) browses(token string, given map[string]said, locale string) {
	s.Helper()
	_, text := s.get("/s/" + token)
	page := readPage(s, text)
	for range 60 {
		s.sees(page, given)
		for _, q := range s.m.questions {
			_, before := given[q.id]
			switch {
			case !page.shown[q.id]:
				continue
			case page.faulty[q.id]:
				given[q.id] = s.m.right(q, locale)
			case !before || s.m.IntN(10) == 0:
				given[q.id] = s.m.any(q, locale)
			}
			page.answer(q, given[q.id])
		}
		if page.back && s.m.IntN(6) == 0 {
			page.form.Set("to", "back")
		}
		resp := call(s, s.forms, "POST", "/SurveyInstances/"+token+"/responses", page.form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		if resp.Status == http.StatusSeeOther {
			return
		}
		s.told(resp, page, given)
		page = readPage(s, resp.Body)
	}
	s.Errorf("the form does not come to an end\n%s", shown(text))
}

// at is the page of the form that is shown.
func (b *browserless) at() int {
	at, err := strconv.Atoi(b.form.Get("page"))
	if err != nil {
		return 1
	}
	return at
}

// sees says that a page asks what the answers so far ask, and has them. What is not asked any more
// a browser does not send again.
func (s *randomStory) sees(page *browserless, given map[string]said) {
	s.Helper()
	_, _, asked := s.m.answered(given)
	maps.DeleteFunc(given, func(id string, _ said) bool {
		return !slices.ContainsFunc(asked, func(q *modelQuestion) bool { return q.id == id })
	})
	want := map[string]bool{}
	for _, q := range asked {
		if q.page == page.at() {
			want[q.id] = true
		}
		sent := slices.DeleteFunc(slices.Clone(given[q.id].values), func(v string) bool { return v == "" && !q.order })
		has := slices.DeleteFunc(slices.Clone(page.form["q."+q.id]), func(v string) bool { return v == "" && !q.order })
		if len(sent) > 0 && !slices.Equal(sent, has) {
			s.Errorf("%s was %q, and the page has %q", q.id, sent, has)
		}
	}
	if !maps.Equal(want, page.shown) {
		s.Errorf("page %d asks %v, want %v", page.at(), slices.Sorted(maps.Keys(page.shown)), slices.Sorted(maps.Keys(want)))
	}
}

// told says that an answer names what is wrong up to the page that was sent, the first page of it.
func (s *randomStory) told(resp answer, sent *browserless, given map[string]said) {
	s.Helper()
	page := readPage(s, resp.Body)
	_, wrong, _ := s.m.answered(given)
	want := map[string]bool{}
	if resp.Status == http.StatusUnprocessableEntity {
		for _, q := range wrong {
			if q.page == wrong[0].page && q.page <= sent.at() {
				want[q.id] = true
			}
		}
		if len(want) == 0 {
			s.Errorf("refused, and nothing is wrong\n%s", shown(resp.Body))
		}
	} else if resp.Status != http.StatusOK {
		s.Errorf("%d\n%s", resp.Status, shown(resp.Body))
	}
	if !maps.Equal(want, page.faulty) {
		s.Errorf("%v is said to be wrong, want %v", page.faulty, want)
	}
}

// counted says that the results are the sums of the answers.
func (s *randomStory) counted() {
	s.Helper()
	got, err := s.survey.Results().Get(s.Context(), "tenant", survey.ResultQuery{SurveyID: 4523})
	if err != nil || len(got.Groups) != 1 || got.Groups[0].Responses != len(s.answers) || got.Groups[0].Asked != len(s.answers) {
		s.Fatalf("%+v %v", got, err)
	}
	of := map[string]survey.QuestionResult{}
	for _, q := range got.Groups[0].Questions {
		of[q.ID] = q
	}
	for _, q := range s.m.questions {
		n, sum := 0, 0.0
		counts, places := map[string]int{}, map[string]int{}
		for _, values := range s.answers {
			switch value := values[q.id].(type) {
			case nil:
				continue
			case string:
				counts[value]++
			case float64:
				sum += value
				counts[strconv.FormatFloat(value, 'f', -1, 64)]++
			case []string:
				for i, option := range value {
					places[option] += i + 1
					if i == 0 || !q.order {
						counts[option]++
					}
				}
			}
			n++
		}
		s.isCounted(q, of[q.id], n, sum, counts, places)
		delete(of, q.id)
	}
	if len(of) > 0 {
		s.Errorf("nobody asked, and is counted: %v", of)
	}
}

func (s *randomStory) isCounted(q *modelQuestion, got survey.QuestionResult, n int, sum float64, counts, places map[string]int) {
	s.Helper()
	if got.N != n || got.Few != (n > 0 && n < survey.MinResponses) {
		s.Errorf("%s: %d answers, few: %v, want %d", q.id, got.N, got.Few, n)
	}
	if n < survey.MinResponses {
		if len(got.Counts) > 0 {
			s.Errorf("%s: of %d answers is shown %v", q.id, n, got.Counts)
		}
		return
	}
	mean, has := got.Mean()
	if numeric := slices.Contains([]string{"number", "rating", "nps"}, q.kind); has != numeric || numeric && math.Abs(mean-sum/float64(n)) > 1e-9 {
		s.Errorf("%s: a mean of %v, want %v", q.id, mean, sum/float64(n))
	}
	if q.kind == "number" || q.kind == "text" || q.kind == "longText" || q.kind == "date" {
		counts = nil
	}
	for _, c := range got.Counts {
		if c.N != counts[c.Value] || q.order && math.Abs(c.Place-float64(places[c.Value])/float64(n)) > 1e-9 {
			s.Errorf("%s: %+v, want %d", q.id, c, counts[c.Value])
		}
		delete(counts, c.Value)
	}
	if len(counts) > 0 {
		s.Errorf("%s: %v is not counted", q.id, counts)
	}
}

// exported says that each response is in the export, with its answers under their questions.
func (s *randomStory) exported() {
	s.Helper()
	var out bytes.Buffer
	if _, err := s.survey.Responses().ExportCSV(s.Context(), "tenant", &out, survey.ResponseQuery{SurveyID: 4523}, nil); err != nil {
		s.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(lines) != len(s.answers)+1 {
		s.Fatal(len(lines), err)
	}
	for _, line := range lines[1:] {
		got, want := map[string]string{}, map[string]string{}
		switch {
		case s.m.anonymous:
		case s.m.open:
			want["candidate.city"] = ""
		default:
			want["candidate.city"] = "Cork"
		}
		for i, name := range lines[0] {
			if strings.HasPrefix(name, "answers.") || name == "candidate.city" {
				got[name] = line[i]
			}
		}
		for _, q := range s.m.questions {
			want["answers."+q.id] = cell(s.answers[line[0]][q.id])
		}
		if !maps.Equal(got, want) {
			s.Errorf("exported %q, want %q", got, want)
		}
	}
}

// cell is an answer in a spreadsheet, which must not run it.
func cell(value any) string {
	switch value := value.(type) {
	case string:
		if strings.ContainsAny(value[:1], "=+-@\t\n") {
			return "'" + value
		}
		return value
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case []string:
		return strings.Join(value, "; ")
	}
	return ""
}

// listed says that the worklist has the unhappy, and no other.
func (s *randomStory) listed() {
	s.Helper()
	page, err := s.survey.Support().Worklist(s.Context(), "tenant", survey.WorklistQuery{SurveyID: 4523, Page: storage.Page{Limit: 100}})
	if err != nil {
		s.Fatal(err)
	}
	got, want := map[string]bool{}, map[string]bool{}
	for _, w := range page.Items {
		got[w.PublicID] = true
	}
	for id, values := range s.answers {
		if s.m.unhappy != nil && s.m.unhappy.holds(values) {
			want[id] = true
		}
	}
	if !maps.Equal(got, want) || page.Total != len(want) {
		s.Errorf("listed %v, want %v", got, want)
	}
}
