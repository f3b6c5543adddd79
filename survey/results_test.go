package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// scored is a survey with a question of each kind that is counted, two triggers, and
// the dealer as a dimension.
const scored = `{
	"questions": [
		{"id": "nps", "type": "rating", "min": 0, "max": 10, "required": true},
		{"id": "stars", "type": "rating"},
		{"id": "again", "type": "yesNo"},
		{"id": "why", "type": "multiple", "options": [{"value": "price"}, {"value": "speed"}]},
		{"id": "spent", "type": "number"},
		{"id": "more", "type": "longText"}
	],
	"dimensions": ["candidate.dealer"],
	"triggers": [
		{"id": "visit", "enabled": true, "eventKind": "service-visit-closed", "filter": {"questionId": "candidate.kind", "op": "==", "value": "visit"},
			"dedupRecipe": ["templateId", "recipient.address", "candidate.wip"], "schedule": {"initialDelay": "1h", "reminders": ["1d"]}, "channel": "memory:default"},
		{"id": "sale", "enabled": true, "eventKind": "service-visit-closed", "filter": {"questionId": "candidate.kind", "op": "==", "value": "sale"},
			"dedupRecipe": ["templateId", "recipient.address", "candidate.wip"], "schedule": {"initialDelay": "2d"}, "channel": "memory:default"}
	]
}`

// storied is a link of a random story, and what the story did with it.
type storied struct {
	id, customer   string
	made           time.Time
	under          map[string]string // value by dimension
	sent, last     time.Time         // its first and last send; zero: none
	opened, erased bool
	answeredOn     time.Time
	answers        map[string]any
	waited, waits  int64
}

// story does random things to a survey through processes that die at random verbs, and
// remembers what it did.
type story struct {
	*host
	random *rand.Rand
	links  []*storied
}

// process is a service whose process dies at a random verb, from when on its store
// answers nothing.
func (s *story) process() *survey.Service {
	var left atomic.Int64
	left.Store(1 + s.random.Int64N(40))
	return survey.New(&storetest.Spy{Store: s.store, Hook: func(c storetest.Call) error {
		if left.Add(-1) < 0 {
			return errCrash
		}
		return nil
	}}, notify.New(&storetest.Spy{Store: s.store, Hook: func(c storetest.Call) error {
		if left.Add(-1) < 0 {
			return errCrash
		}
		return nil
	}}, nil, s.memory()), &survey.Options{SurveyURL: "https://host.example/s/{token}", Logger: quiet()})
}

// until does something again until a process lives through it.
func (s *story) until(do func(*survey.Service) error) error {
	for range 4 {
		if err := do(s.process()); !errors.Is(err, errCrash) {
			return err
		}
	}
	return do(s.survey)
}

func (s *story) step(n int) {
	s.t.Helper()
	fail := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	switch roll := s.random.IntN(20); {
	case roll < 6:
		s.tell(n)
	case roll < 13:
		s.answer()
	case roll < 16:
		s.clock.Add(time.Duration(1+s.random.IntN(60)) * time.Hour)
	case roll < 18:
		_, err := s.process().PollOnce(s.t.Context(), 100)
		if err != nil && !errors.Is(err, errCrash) {
			fail(err)
		}
		fail(s.poller.Drain(s.t.Context()))
		s.look()
	case roll < 19:
		s.open()
	default:
		s.forgets()
	}
}

// tell makes some links.
func (s *story) tell(n int) {
	var items []survey.Item
	var made []*storied
	for i := range 1 + s.random.IntN(12) {
		l := &storied{customer: fmt.Sprintf("c%d-%d", n, i), made: s.clock.Now(), under: map[string]string{
			survey.ByTrigger: []string{"visit", "sale"}[s.random.IntN(2)], survey.ByLocale: []string{"en", "ar", ""}[s.random.IntN(3)],
			"candidate.dealer": []string{"north", "south", "", "a rare one"}[min(s.random.IntN(40)/10, 3)], survey.ByUnit: "",
		}}
		payload := map[string]any{"wip": l.customer, "kind": l.under[survey.ByTrigger]}
		if dealer := l.under["candidate.dealer"]; dealer != "" {
			payload["dealer"] = dealer
		}
		text, err := json.Marshal(payload)
		if err != nil {
			s.t.Fatal(err)
		}
		items = append(items, survey.Item{Payload: text, Recipient: survey.Recipient{Address: "+964 770 000 0001", Locale: l.under[survey.ByLocale], CustomerRef: l.customer}})
		made = append(made, l)
	}
	var report survey.IngestReport
	err := s.until(func(p *survey.Service) (err error) {
		report, err = p.Ingest(s.t.Context(), survey.Batch{EventKind: "service-visit-closed", Items: items})
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for i, l := range made {
		l.id = report.Items[i].Instances[0].PublicID
	}
	s.links = append(s.links, made...)
}

// look notes which links have been sent.
func (s *story) look() {
	rows, next, err := s.survey.Support().Instances(s.t.Context(), "", survey.Selection{SurveyID: 4523}, storage.Page{Limit: 1000})
	if err != nil || next != "" {
		s.t.Fatal(err, next)
	}
	sent := map[string]time.Time{}
	for _, i := range rows {
		sent[i.PublicID] = i.LastSentOn
	}
	for _, l := range s.links {
		if l.last = sent[l.id]; l.sent.IsZero() {
			l.sent = l.last
		}
	}
}

// answer answers a link that is not, whether or not it was sent.
func (s *story) answer() {
	s.look()
	if len(s.links) == 0 {
		return
	}
	l := s.links[s.random.IntN(len(s.links))]
	given := map[string]any{"nps": s.random.IntN(11)}
	for id, value := range map[string]any{
		"stars": 1 + s.random.IntN(5), "again": []string{"yes", "no"}[s.random.IntN(2)], "why": [][]string{{"price"}, {"speed"}, {"price", "speed"}}[s.random.IntN(3)],
		"spent": json.Number(fmt.Sprintf("%d.%d", s.random.IntN(1000), s.random.IntN(10))), "more": "it was slow",
	} {
		if s.random.IntN(3) > 0 {
			given[id] = value
		}
	}
	text, err := json.Marshal(given)
	if err != nil {
		s.t.Fatal(err)
	}
	var receipt survey.Receipt
	err = s.until(func(p *survey.Service) (err error) {
		receipt, err = p.Complete(s.t.Context(), "", l.id, survey.Response{Answers: text})
		return err
	})
	if errors.Is(err, survey.ErrNoSurvey) || errors.Is(err, survey.ErrAnswered) || receipt.Repeated && !l.answeredOn.IsZero() {
		return
	}
	if err != nil {
		s.t.Fatal(err)
	}
	l.answeredOn, l.answers = s.clock.Now(), given
	if !l.last.IsZero() {
		l.waits, l.waited = 1, int64(l.answeredOn.Sub(l.last)/time.Second)
	}
}

// open shows the forms of some links, sent or not.
func (s *story) open() {
	for range min(len(s.links), 5) {
		l := s.links[s.random.IntN(len(s.links))]
		if l.erased {
			continue
		}
		token := tokenOf(s.link(l.id))
		switch err := s.until(func(p *survey.Service) error { return p.Opened(s.t.Context(), token) }); {
		case err == nil:
			l.opened = true
		case !errors.Is(err, survey.ErrNoSurvey):
			s.t.Fatal(err)
		}
	}
}

// forgets erases a customer, and the counts stay.
func (s *story) forgets() {
	s.look()
	if len(s.links) == 0 || s.random.IntN(3) > 0 {
		return
	}
	l := s.links[s.random.IntN(len(s.links))]
	if l.erased {
		return
	}
	if err := s.erase("", l.customer); err != nil {
		s.t.Fatal(err)
	}
	l.erased = true
}

// day is the beginning of a moment's day.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// begins is where the period of a day begins, reckoned another way than the package does.
func begins(day time.Time, step survey.Step) time.Time {
	switch step {
	case survey.Daily:
		return day
	case survey.Weekly:
		for day.Weekday() != time.Monday {
			day = day.Add(-24 * time.Hour)
		}
		return day
	case survey.Monthly:
		for day.Day() != 1 {
			day = day.Add(-24 * time.Hour)
		}
		return day
	}
	return time.Time{}
}

// recount counts the links of the story one by one, and writes each group in a line.
func (s *story) recount(q survey.ResultQuery) map[string]string {
	type group struct {
		asked, opened, answered, responses int
		waits, waited                      int64
		counts                             map[string]map[string]int
		sums                               map[string]float64
	}
	groups, total := map[string]map[time.Time]*group{}, map[string]int{}
	at := func(l *storied, on time.Time) *group {
		day := dayOf(on)
		if !q.Since.IsZero() && day.Before(dayOf(q.Since)) || !q.Until.IsZero() && !day.Before(dayOf(q.Until)) {
			return &group{counts: map[string]map[string]int{}, sums: map[string]float64{}} // counted nowhere
		}
		value, from := l.under[q.By], begins(day, q.Step)
		if groups[value] == nil {
			groups[value] = map[time.Time]*group{}
		}
		if groups[value][from] == nil {
			groups[value][from] = &group{counts: map[string]map[string]int{}, sums: map[string]float64{}}
		}
		return groups[value][from]
	}
	for _, l := range s.links {
		opened := l.opened || !l.answeredOn.IsZero()
		if !l.sent.IsZero() || opened {
			at(l, l.made).asked++
		}
		if opened {
			at(l, l.made).opened++
		}
		if l.answeredOn.IsZero() {
			continue
		}
		at(l, l.made).answered++
		g := at(l, l.answeredOn)
		g.responses, g.waits, g.waited = g.responses+1, g.waits+l.waits, g.waited+l.waited
		for id, value := range l.answers {
			if g.counts[id] == nil {
				g.counts[id] = map[string]int{}
			}
			g.counts[id]["n"]++
			switch v := value.(type) {
			case int:
				g.counts[id][fmt.Sprint(v)]++
			case []string:
				for _, option := range v {
					g.counts[id][option]++
				}
			case json.Number:
				f, err := v.Float64()
				if err != nil {
					s.t.Fatal(err)
				}
				g.sums[id] += f
			case string:
				if id == "again" {
					g.counts[id][v]++
				}
			}
		}
	}
	for value, periods := range groups {
		for _, g := range periods {
			total[value] += g.responses
		}
	}
	out, hidden, left := map[string]string{}, hiddenOf(q.By, total), 0
	for value, periods := range groups {
		for from, g := range periods {
			if hidden[value] || q.By != "" && g.responses < 5 {
				left++
			} else {
				wait := int64(0)
				if g.waits >= 5 {
					wait = g.waited / g.waits
				}
				for id, counts := range g.counts {
					if counts["n"] < 5 {
						g.counts[id], g.sums[id] = map[string]int{"n": counts["n"]}, 0
					}
				}
				out[value+"|"+from.Format(time.DateOnly)] = fmt.Sprintf("%d of %d of %d, %d responses after %d s, %v, spent %.1f", g.answered, g.opened, g.asked, g.responses, wait, g.counts, g.sums["spent"])
			}
		}
	}
	out["hidden"] = fmt.Sprint(left)
	return out
}

// hiddenOf are the values with fewer than five responses, and the next ones as long as
// those that are hidden have one to four together.
func hiddenOf(by string, total map[string]int) map[string]bool {
	hidden := map[string]bool{}
	if by == "" {
		return hidden
	}
	sum := 0
	for n := range 5 {
		for value, responses := range total {
			if responses == n {
				hidden[value] = true
				sum += n
			}
		}
	}
	for sum > 0 && sum < 5 && len(hidden) < len(total) {
		least := ""
		found := false
		for _, value := range slices.Sorted(maps.Keys(total)) {
			if !hidden[value] && (!found || total[value] < total[least]) {
				least, found = value, true
			}
		}
		hidden[least] = true
		sum += total[least]
	}
	return hidden
}

// lines are a result as recount writes it.
func lines(r survey.Result) map[string]string {
	out := map[string]string{"hidden": fmt.Sprint(r.Hidden)}
	for _, g := range r.Groups {
		counts, spent := map[string]map[string]int{}, 0.0
		for _, q := range g.Questions {
			of := map[string]int{"n": q.N}
			for _, c := range q.Counts {
				if c.N > 0 { // options that were not chosen are there, too
					of[c.Value] = c.N
				}
			}
			counts[q.ID] = of
			if mean, ok := q.Mean(); ok && q.Type == form.NumberQuestion {
				spent = mean * float64(q.N)
			}
		}
		out[g.Value+"|"+g.From.Format(time.DateOnly)] = fmt.Sprintf("%d of %d of %d, %d responses after %d s, %v, spent %.1f", g.Answered, g.Opened, g.Asked, g.Responses, int64(g.Wait/time.Second), counts, spent)
	}
	return out
}

// queries are what is compared: each dimension and step, over all time and some of it.
func (s *story) queries() (out []survey.ResultQuery) {
	for _, by := range []string{"", survey.ByUnit, survey.ByTrigger, survey.ByLocale, "candidate.dealer"} {
		for _, step := range []survey.Step{"", survey.Daily, survey.Weekly, survey.Monthly} {
			since := start.Add(time.Duration(s.random.IntN(60*24)) * time.Hour)
			out = append(out, survey.ResultQuery{SurveyID: 4523, By: by, Step: step},
				survey.ResultQuery{SurveyID: 4523, By: by, Step: step, Since: since, Until: since.Add(time.Duration(s.random.IntN(90*24)) * time.Hour)})
		}
	}
	return out
}

func (s *story) compare(when string) {
	s.t.Helper()
	for _, q := range s.queries() {
		got, err := s.survey.Results().Get(s.t.Context(), "", q)
		if err != nil {
			s.t.Fatal(err)
		}
		if diff := cmp.Diff(s.recount(q), lines(got)); diff != "" {
			s.t.Fatalf("%s, by %q, step %q, %v to %v (-want +got):\n%s", when, q.By, q.Step, q.Since, q.Until, diff)
		}
	}
}

// Whatever happens to a survey, in processes that die at random verbs, its results are
// what a count of its links one by one gives, before and after they are polled.
func TestResultsAreACountOfTheResponses(t *testing.T) {
	t.Parallel()
	stories, onMemory, steps := 12, 12, 60
	if testlevel.Has(t, testlevel.Nightly) {
		stories, onMemory, steps = 2000, 100_000, 40
	}
	for seed := range onMemory {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			each := eachHost
			if seed >= stories {
				each = onMemoryHost
			}
			each(t, nil, func(h *host) {
				h.publish(scored)
				s := &story{host: h, random: rand.New(rand.NewPCG(uint64(seed), 24))}
				for n := range steps {
					s.step(n)
					if n%20 == 19 {
						s.look()
						s.compare(fmt.Sprintf("step %d", n))
					}
				}
				s.drain()
				s.look()
				s.compare("drained")
			})
		})
	}
}

// answered makes links to one dealer each and answers them.
func (h *host) answered(dealers ...string) {
	h.t.Helper()
	for n, dealer := range dealers {
		got := h.about(survey.Item{
			Payload:   json.RawMessage(fmt.Sprintf(`{"kind": "visit", "wip": "%s-%d", "dealer": %q}`, dealer, n, dealer)),
			Recipient: survey.Recipient{Address: "+964 770 000 0001"},
		})
		if _, err := h.survey.Complete(h.t.Context(), "", got.Items[0].Instances[0].PublicID, survey.Response{Answers: json.RawMessage(`{"nps": 9}`)}); err != nil {
			h.t.Fatal(err)
		}
	}
}

// A value with fewer than five responses is not shown, and neither is what would tell of
// it by the difference from all of them.
func TestAValueOfFewResponsesIsHidden(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(scored)
		h.answered(strings.Split(strings.Repeat("north ", 6)+strings.Repeat("south ", 9)+"rare rare", " ")...)
		got, err := h.survey.Results().Get(h.t.Context(), "", survey.ResultQuery{SurveyID: 4523, By: "candidate.dealer"})
		if err != nil || len(got.Groups) != 1 || got.Groups[0].Value != "south" || got.Groups[0].Responses != 9 || got.Hidden != 2 {
			h.t.Errorf("%+v, %v", got, err)
		}
		h.answered("rare", "rare", "rare")
		got, err = h.survey.Results().Get(h.t.Context(), "", survey.ResultQuery{SurveyID: 4523, By: "candidate.dealer"})
		if err != nil || len(got.Groups) != 3 || got.Hidden != 0 {
			h.t.Errorf("%+v, %v", got, err)
		}
	})
}

// Whatever is asked for, an answer is shown only among five at least: of a value on a day, on a
// day alone, and of a question that few have answered.
func TestFewAnswersAreHiddenInEachCell(t *testing.T) {
	t.Parallel()
	onMemoryHost(t, nil, func(h *host) {
		h.publish(scored)
		tell := func(dealer string, n int, answers string) {
			for i := range n {
				got := h.about(survey.Item{
					Payload:   json.RawMessage(fmt.Sprintf(`{"kind": "visit", "wip": "%s-%d-%d", "dealer": %q}`, dealer, i, h.clock.Now().Unix(), dealer)),
					Recipient: survey.Recipient{Address: "+964 770 000 0001"},
				})
				if _, err := h.survey.Complete(h.t.Context(), "", got.Items[0].Instances[0].PublicID, survey.Response{Answers: json.RawMessage(answers)}); err != nil {
					h.t.Fatal(err)
				}
			}
		}
		for range 12 {
			tell("north", 1, `{"nps": 9}`)
			tell("south", 5, `{"nps": 3}`)
			h.clock.Add(oneDay)
		}
		tell("south", 4, `{"nps": 1, "stars": 1, "spent": 7}`)
		for _, q := range []survey.ResultQuery{
			{By: "candidate.dealer", Step: survey.Daily}, {By: "candidate.dealer", Step: survey.Weekly}, {Step: survey.Daily},
			{Since: h.clock.Now()}, {By: "candidate.dealer", Since: h.clock.Now()}, {},
		} {
			q.SurveyID = 4523
			got, err := h.survey.Results().Get(h.t.Context(), "", q)
			if err != nil {
				h.t.Fatal(err)
			}
			for _, g := range got.Groups {
				if q.By != "" && g.Responses < survey.MinResponses {
					h.t.Errorf("%+v shows %q with %d", q, g.Value, g.Responses)
				}
				for _, of := range g.Questions {
					mean, ok := of.Mean()
					if of.N < survey.MinResponses && (len(of.Counts) > 0 || ok || !of.Few) {
						h.t.Errorf("%+v shows %d answers to %s: %v, %v", q, of.N, of.ID, of.Counts, mean)
					}
				}
			}
		}
		got, err := h.survey.Results().Get(h.t.Context(), "", survey.ResultQuery{SurveyID: 4523, By: "candidate.dealer", Step: survey.Daily})
		if err != nil || len(got.Groups) != 12 || got.Hidden != 13 {
			h.t.Errorf("%d groups, %d hidden, %v", len(got.Groups), got.Hidden, err)
		}
	})
}

// A customer who answers while the link is sent was asked once.
func TestALinkIsAskedOnceThoughItIsAnsweredAmidItsSend(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{}, through(func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			if _, err := h.survey.Submit(ctx, tokenOf(linkIn(m)), survey.Response{Answers: json.RawMessage(`{"rate": 7}`)}); err != nil {
				h.t.Error(err)
			}
			return channel.Receipt{}, nil
		}))
		h.linked(definition("0d", nil))
		h.drain()
		got, err := h.survey.Results().Get(h.t.Context(), "", survey.ResultQuery{SurveyID: 4523})
		if err != nil || len(got.Groups) != 1 || got.Groups[0].Asked != 1 || got.Groups[0].Answered != 1 {
			h.t.Errorf("%+v, %v", got, err)
		}
	})
}

// Of the links of a day at most those are opened that were asked, and answered that were opened: also
// where customers are quicker than the sends, or the answers come weeks later.
func TestAskedOpenedAndAnsweredAreOfTheLinksOfADay(t *testing.T) {
	t.Parallel()
	for name, definition := range map[string]string{"by name": csiGR, "anonymous": strings.Replace(csiGR, `"questions":`, `"anonymous": true, "questions":`, 1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachHost(t, nil, func(h *host) {
				h.publish(definition)
				open := func(id string) { h.done(h.survey.Opened(h.t.Context(), tokenOf(h.link(id)))) }
				var early, late string
				for i, wip := range []string{"early", "late", "asked", "opened"} {
					id := h.visited(wip)
					switch i {
					case 0:
						early = id
						open(early) // its host has shown it
					case 1:
						late = id
					case 3:
						open(id)
					}
				}
				h.at(2 * day)
				open(early)
				open(late)
				h.at(20 * day)
				h.says(late, `{"rate": 3, "has-a-complaint": "no"}`)
				for _, counted := range []string{"noted", "counted"} {
					got, err := h.survey.Results().Get(h.t.Context(), "", survey.ResultQuery{SurveyID: 4523, Step: survey.Daily})
					if err != nil || len(got.Groups) != 2 {
						h.t.Fatalf("%s: %+v, %v", counted, got, err)
					}
					if links := got.Groups[0]; links.Asked != 4 || links.Opened != 3 || links.Answered != 1 || links.Responses != 0 {
						h.t.Errorf("%s: the day of the links: %+v", counted, links)
					}
					if response := got.Groups[1]; response.Asked+response.Opened+response.Answered != 0 || response.Responses != 1 {
						h.t.Errorf("%s: the day of the response: %+v", counted, response)
					}
					h.drain()
				}
			})
		})
	}
}

// Counts outlive the responses that they are of, and hold nothing of a person.
func TestResultsStayWhenAResponseIsErased(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		_, done := h.answeredCustomer()
		before, err := h.survey.Results().Get(h.t.Context(), "", survey.ResultQuery{SurveyID: 4523})
		if err != nil || len(before.Groups) != 1 || before.Groups[0].Responses != 1 {
			h.t.Fatalf("%+v, %v", before, err)
		}
		for _, counted := range []bool{false, true} {
			if counted {
				h.drain()
			} else if err := h.erase("", canaries[1]); err != nil {
				h.t.Fatal(err)
			}
			after, err := h.survey.Results().Get(h.t.Context(), "", survey.ResultQuery{SurveyID: 4523})
			if diff := cmp.Diff(lines(before), lines(after)); diff != "" || err != nil {
				h.t.Errorf("%v, counted: %t %s", err, counted, diff)
			}
			for _, canary := range canaries {
				if strings.Contains(h.everything(), canary) {
					h.t.Errorf("%s is left, counted: %t", canary, counted)
				}
			}
		}
		if _, err := h.survey.Responses().Get(h.t.Context(), "", done); !errors.Is(err, storage.ErrNotFound) {
			h.t.Errorf("the response is there: %v", err)
		}
	})
}

// A figure is shown of a scale that its authors call so, in its direction, and of no other.
func TestMetricsAreDeclared(t *testing.T) {
	t.Parallel()
	onMemoryHost(t, nil, func(h *host) {
		h.publish(`{"questions": [
			{"id": "ten", "type": "rating", "min": 0, "max": 10}, {"id": "five", "type": "rating"},
			{"id": "nps", "type": "nps"}, {"id": "like", "type": "rating", "min": 0, "max": 10, "metric": "nps"},
			{"id": "csat", "type": "rating", "metric": "csat"}, {"id": "school", "type": "rating", "max": 6, "lowIsBetter": true, "metric": "csat"},
			{"id": "effort", "type": "rating", "max": 7, "lowIsBetter": true, "metric": "ces"}
		], "triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`)
		good, bad := `{"ten": 9, "five": 5, "nps": 9, "like": 10, "csat": 5, "school": 1, "effort": 1}`, `{"ten": 0, "five": 1, "nps": 0, "like": 8, "csat": 4, "school": 5, "effort": 2}`
		h.rated(good, bad, good, bad, good, bad)
		got, err := h.survey.Results().Get(h.t.Context(), "", survey.ResultQuery{SurveyID: 4523})
		if err != nil {
			h.t.Fatal(err)
		}
		var lines []string
		for _, q := range got.Groups[0].Questions {
			line := q.ID
			for name, figure := range map[string]func() (float64, bool){"NPS": q.NPS, "CSAT": q.CSAT, "CES": q.CES} {
				if f, ok := figure(); ok {
					line += fmt.Sprintf(" %s %g", name, f)
				}
			}
			lines = append(lines, line)
		}
		if diff := cmp.Diff([]string{"ten", "five", "nps NPS 0", "like NPS 50", "csat CSAT 100", "school CSAT 50", "effort CES 1.5"}, lines); diff != "" {
			h.t.Error(diff)
		}
	})
}
