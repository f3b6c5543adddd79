package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// Results counts what customers said. It reads counts that are kept as responses come,
// so its cost does not grow with them, and they stay when responses are erased or
// forgotten. Its methods may be called from any number of goroutines.
type Results struct{ *core }

// Results gives what customers said, counted.
func (s *Service) Results() Results { return Results{s.core} }

// ResultQuery says what is counted.
type ResultQuery struct {
	SurveyID int64 // required
	// BusinessUnits are those that the caller may see; nil: all.
	BusinessUnits []string
	// Since and Until bound the days, in UTC: from that of Since on, before that of
	// Until. Zero: unbounded. A response counts on the day on which it came; how many
	// were asked, opened the link and answered, on the day on which the link was made.
	Since, Until time.Time
	// By is a dimension whose values are counted apart: ByUnit, ByTrigger, ByLocale, or a
	// path that the definition declares in its dimensions; empty: none.
	By string
	// Step counts days, weeks or months apart; empty: all together.
	Step Step
}

// Step is a length of time that is counted apart.
type Step string

// The steps; a week begins on Monday.
const (
	Daily   Step = "day"
	Weekly  Step = "week"
	Monthly Step = "month"
)

// MinResponses is the least number of responses among which an answer is shown:
// a group of a value has as many, and of a question with fewer answers only their number is
// told. The difference of two results may still tell of few.
const MinResponses = 5

// Result is the answer to a [ResultQuery].
type Result struct {
	// Groups are in the order of their values and times. Without By and Step there is
	// one.
	Groups []ResultGroup
	// Hidden is how many groups of By are left out, since they have fewer than MinResponses
	// responses, or since they would tell about those.
	Hidden int
}

// ResultGroup is what was counted under one value in one period.
type ResultGroup struct {
	Value string    // of the dimension; empty without By, and where links have none
	From  time.Time // where the period begins; zero without Step
	// Asked links went out, of which Opened have shown their form and Answered have a response by
	// now: each of them is at most the one before.
	Asked, Opened, Answered int
	// Responses are those that came in the time that is asked for, to links of any time.
	Responses int
	// Wait is the mean time from the last send before a response to the response, and
	// zero if there are fewer than MinResponses such.
	Wait      time.Duration
	Questions []QuestionResult // in the order of the latest version, then those of older ones
}

// ResponseRate is the share of the asked who have answered, from 0 to 1; false: no link
// was asked.
func (g ResultGroup) ResponseRate() (float64, bool) {
	return float64(g.Answered) / float64(max(g.Asked, 1)), g.Asked > 0
}

// Get counts. An unknown survey, and a dimension that no response has, have no groups. It
// reads the days and months that it needs, and what came in since the last poll.
func (s Results) Get(ctx context.Context, scope Scope, q ResultQuery) (Result, error) {
	if err := q.check(); err != nil {
		return Result{}, fmt.Errorf("survey: Results: %w", err)
	}
	in, asked, err := s.inquire(ctx, scope, q)
	if err != nil {
		return Result{}, fmt.Errorf("survey: Results of survey %d: %w", q.SurveyID, err)
	}
	return in.result(asked, in.hidden()), nil
}

// inquire counts, and says what the latest version asks.
func (s Results) inquire(ctx context.Context, scope Scope, q ResultQuery) (*inquiry, map[string]askedQuestion, error) {
	in := &inquiry{ResultQuery: q, groups: map[groupKey]*counted{}}
	var v *version
	err := s.read(ctx, func(from driver.Reader) (err error) {
		clear(in.groups)
		if err = in.read(ctx, from, scope); err == nil {
			v, err = s.latest(ctx, from, scope, q.SurveyID)
		}
		return err
	})
	return in, v.asked(), err
}

func (q *ResultQuery) check() error {
	switch q.Step {
	case "", Daily, Weekly, Monthly:
	default:
		return fmt.Errorf("the Step %q is none", string(q.Step))
	}
	if q.SurveyID == 0 {
		return errors.New("no survey is named")
	}
	if !utf8.ValidString(q.By) || strings.ContainsFunc(q.By, unicode.IsControl) {
		return errors.New("its By is not a dimension")
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && q.Until.Before(q.Since) {
		return errors.New("its Until is before its Since")
	}
	return nil
}

// groupKey is a value and the first day of a period.
type groupKey struct{ value, from string }

// inquiry adds up what a query asks for.
type inquiry struct {
	ResultQuery
	groups map[groupKey]*counted
}

// The first and the last day that there can be.
const (
	firstDay = "0000-01-01"
	lastDay  = "9999-12-31"
)

// days are the bounds as they are written: from the first on, before the second.
func (q *ResultQuery) days() (since, until string) {
	since, until = firstDay, lastDay
	if !q.Since.IsZero() {
		since = dayOf(q.Since)
	}
	if !q.Until.IsZero() {
		until = dayOf(q.Until)
	}
	return since, until
}

// dimension is the one whose rows are read. Units are in every row.
func (q *ResultQuery) dimension() string {
	if q.By == ByUnit {
		return whole
	}
	return q.By
}

// read adds up the rows, and the entries that are in none yet.
func (in *inquiry) read(ctx context.Context, from driver.Reader, scope Scope) error {
	for _, span := range in.spans() {
		if span.from == span.before {
			continue
		}
		err := resultRows.Walk(ctx, from, scope, driver.Query{
			Columns: []string{"business_unit", "period", "value", "counts"}, Where: in.where(span), OrderBy: "key", Limit: 2000,
		}, func(page []*resultRow) error {
			for _, r := range page {
				in.add(r.Period[1:], r.BusinessUnit, r.Value, r.Counts)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	since, until := in.days()
	return entries.Walk(ctx, from, scope, driver.Query{Where: []driver.Cond{driver.Eq("survey_id", in.SurveyID)}, Limit: tallyPage}, func(page []*entryRow) error {
		for _, e := range page {
			value, known := e.Fact.dimensions()[in.dimension()]
			if f := e.Fact; known && f.Day >= since && f.Day < until {
				in.add(f.Day, f.Unit, value, f.Counts)
			}
		}
		return nil
	})
}

// span is a range of periods: from the first on, before the second.
type span struct{ from, before string }

// spans are the rows that cover the days of the query: months where whole months are
// asked for, else days.
func (in *inquiry) spans() []span {
	since, until := in.days()
	if in.Step == Daily || in.Step == Weekly {
		return []span{{dayPeriod(since), dayPeriod(until)}}
	}
	first, last := nextMonth(since), until[:len("2006-01")]+"-01" // the whole months are from first on, before last
	if first >= last {
		return []span{{dayPeriod(since), dayPeriod(until)}}
	}
	return []span{
		{dayPeriod(since), dayPeriod(first)}, {monthPeriod(first), monthPeriod(last)}, {dayPeriod(last), dayPeriod(until)},
	}
}

// nextMonth is the first day of a month that is not before day.
func nextMonth(day string) string {
	if strings.HasSuffix(day, "-01") {
		return day
	}
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// where selects the rows of a span by their keys.
func (in *inquiry) where(s span) []driver.Cond {
	prefix := surveyKey(in.SurveyID) + "\x1f" + in.dimension() + "\x1f"
	out := []driver.Cond{driver.AtLeast("key", prefix+s.from), driver.Less("key", prefix+s.before)}
	if in.BusinessUnits != nil {
		out = append(out, driver.In("business_unit", in.BusinessUnits))
	}
	return out
}

// add counts what there was on a day, or in a month.
func (in *inquiry) add(day, unit, value string, c *counted) {
	if in.BusinessUnits != nil && !slices.Contains(in.BusinessUnits, unit) {
		return
	}
	switch in.By {
	case ByUnit:
		value = unit
	case "":
		value = ""
	}
	key := groupKey{value, in.begin(day)}
	if in.groups[key] == nil {
		in.groups[key] = &counted{}
	}
	in.groups[key].add(c)
}

// begin is the first day of the period of a day, or of a month; empty without Step.
func (in *inquiry) begin(day string) string {
	switch in.Step {
	case Daily:
		return day
	case Monthly:
		return day[:len("2006-01")] + "-01"
	case Weekly:
		t, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return day
		}
		return t.AddDate(0, 0, -(int(t.Weekday())+6)%7).Format(time.DateOnly)
	}
	return ""
}

// hidden are the groups that are not shown: those with too few responses, and all of a
// value which has too few, or one of as many of the next ones as it takes for the difference
// from the whole to tell nothing.
func (in *inquiry) hidden() map[groupKey]bool {
	out := map[groupKey]bool{}
	if in.By == "" {
		return out
	}
	values := in.hiddenValues()
	for key, c := range in.groups {
		if values[key.value] || c.Responses < MinResponses {
			out[key] = true
		}
	}
	return out
}

func (in *inquiry) hiddenValues() map[string]bool {
	out := map[string]bool{}
	of := map[string]int{} // responses by value, whatever the period
	for key, c := range in.groups {
		of[key.value] += c.Responses
	}
	values := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[a], of[b]), cmp.Compare(a, b))
	})
	sum := 0
	for _, v := range values {
		n := of[v]
		if n >= MinResponses && (sum == 0 || sum >= MinResponses) {
			break
		}
		out[v] = true
		sum += n
	}
	return out
}

func (in *inquiry) result(asked map[string]askedQuestion, hidden map[groupKey]bool) Result {
	out := Result{Hidden: len(hidden)}
	for key, c := range in.groups {
		if !hidden[key] {
			out.Groups = append(out.Groups, groupOf(key, c, asked))
		}
	}
	slices.SortFunc(out.Groups, func(a, b ResultGroup) int { return cmp.Or(cmp.Compare(a.Value, b.Value), a.From.Compare(b.From)) })
	return out
}

func groupOf(key groupKey, c *counted, asked map[string]askedQuestion) ResultGroup {
	g := ResultGroup{Value: key.value, Asked: c.Asked, Opened: c.Opened, Answered: c.Answered, Responses: c.Responses}
	if key.from != "" {
		g.From, _ = time.Parse(time.DateOnly, key.from) // begin wrote it
	}
	if c.Waits >= MinResponses {
		g.Wait = time.Duration(c.Waited/int64(c.Waits)) * time.Second
	}
	g.Questions = questionsIn(c.Questions, asked)
	return g
}

// questionsIn are questions in their order, as far as the latest version asks them.
func questionsIn(counts map[string]*given, asked map[string]askedQuestion) (out []QuestionResult) {
	for key, given := range counts {
		q := questionOf(key, given)
		if now, known := asked[q.ID]; known && questionKey(now.Question) == key {
			q.Metric, q.LowIsBetter = now.Metric, now.LowIsBetter
			q.offer(now.Question)
		}
		if q.Type == form.NPSQuestion {
			q.Metric = form.MetricNPS
		}
		if q.Few = q.N < MinResponses; q.Few {
			q.Counts, q.sum = nil, ""
		}
		out = append(out, q)
	}
	place := func(q QuestionResult) int {
		if now, known := asked[q.ID]; known {
			return now.place
		}
		return len(asked)
	}
	slices.SortFunc(out, func(a, b QuestionResult) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Most, b.Most), cmp.Compare(a.Least, b.Least))
	})
	return out
}
