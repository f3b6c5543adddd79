package survey

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage/driver"
)

// exportPage is how many responses an export holds at once.
const exportPage = 100

// ExportJSONLines writes the responses that q selects as JSON, one [StoredResponse]
// a line, and says how many. It reads page by page, holds one page, and keeps no
// transaction open while w takes it. Limit bounds the whole; zero: all.
func (s Responses) ExportJSONLines(ctx context.Context, scope Scope, w io.Writer, q ResponseQuery) (int, error) {
	buffered := bufio.NewWriter(w)
	lines := json.NewEncoder(buffered)
	lines.SetEscapeHTML(false)
	n, err := s.walk(ctx, scope, q, nil, func(page []*responseRow) error {
		for _, r := range page {
			if err := lines.Encode(r.stored()); err != nil {
				return err
			}
		}
		return buffered.Flush()
	})
	return n, err
}

// walk passes the responses on page by page, each as of a moment of its own,
// and says how many.
func (s Responses) walk(ctx context.Context, scope Scope, q ResponseQuery, columns []string, visit func([]*responseRow) error) (int, error) {
	total, most := 0, q.Limit
	for {
		q.Limit = exportPage
		if most > 0 {
			q.Limit = min(exportPage, most-total)
		}
		var page []*responseRow
		var next string
		err := s.read(ctx, func(from driver.Reader) (err error) {
			page, next, err = q.find(ctx, from, scope, columns...)
			return err
		})
		if err != nil {
			return total, err
		}
		if len(page) > 0 {
			if err := visit(page); err != nil {
				return total, err
			}
		}
		total += len(page)
		if next == "" || total == most {
			return total, nil
		}
		q.After = next
	}
}

// exportColumns stand before those of the questions.
var exportColumns = []string{"publicId", "surveyId", "surveyVersion", "triggerId", "businessUnit", "customerRef", "agentId", "locale", "completedAt", "submittedAt"}

// errNewVersion ends an export whose columns cannot be right any more.
var errNewVersion = errors.New("survey: a response to another version came while the export ran; export again")

// ExportCSV writes the responses that q selects as CSV (RFC 4180, UTF-8) with a
// header, and says how many. There is a column answers.<id> for each question of
// all versions among them, in the order of the versions and their questions. The
// options of a multiple choice are joined by "; ".
//
// A spreadsheet would run a text that begins like a formula. So a text that begins
// with =, +, -, @, a tab or a line break gets an apostrophe before it; numbers stay
// as they are. Like [Responses.ExportJSONLines] it holds one page of responses.
func (s Responses) ExportCSV(ctx context.Context, scope Scope, w io.Writer, q ResponseQuery) (int, error) {
	numbers, err := s.versionsAmong(ctx, scope, q)
	if err != nil {
		return 0, err
	}
	questions, err := s.questionsOf(ctx, scope, q.SurveyID, numbers)
	if err != nil {
		return 0, err
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	header := slices.Clone(exportColumns)
	for _, id := range questions {
		header = append(header, "answers."+id)
	}
	if err := out.Write(header); err != nil {
		return 0, err
	}
	n, err := s.walk(ctx, scope, q, nil, func(page []*responseRow) error {
		for _, r := range page {
			if !slices.Contains(numbers, r.SurveyVersion) {
				return errNewVersion
			}
			if err := out.Write(r.cells(questions)); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	})
	out.Flush()
	return n, errors.Join(err, out.Error())
}

// versionsAmong are the versions that the selected responses answer, in order.
func (s Responses) versionsAmong(ctx context.Context, scope Scope, q ResponseQuery) ([]int64, error) {
	seen := map[int64]bool{}
	_, err := s.walk(ctx, scope, q, []string{"survey_version"}, func(page []*responseRow) error {
		for _, r := range page {
			seen[r.SurveyVersion] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(seen)), err
}

// questionsOf are the questions of some versions, each once.
func (s Responses) questionsOf(ctx context.Context, scope Scope, surveyID int64, numbers []int64) (ids []string, err error) {
	seen := map[string]bool{}
	for _, n := range numbers {
		var v *version
		err := s.read(ctx, func(from driver.Reader) (err error) {
			v, err = s.versionOf(ctx, from, scope, surveyID, n)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("survey: version %d: %w", n, err)
		}
		for _, q := range v.Questions {
			if !seen[q.ID] {
				seen[q.ID], ids = true, append(ids, q.ID)
			}
		}
	}
	return ids, nil
}

// cells are a response as a record of CSV.
func (r *responseRow) cells(questions []string) []string {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(r.Answers, &given) // an object: accept wrote it
	out := []string{
		r.Key, strconv.FormatInt(r.SurveyID, 10), strconv.FormatInt(r.SurveyVersion, 10),
		defused(r.TriggerID), defused(r.BusinessUnit), defused(r.CustomerRef), defused(r.AgentID), defused(r.Locale),
		r.CompletedOn.Format(time.RFC3339Nano), r.SubmittedOn.Format(time.RFC3339Nano),
	}
	for _, id := range questions {
		out = append(out, cellOf(given[id]))
	}
	return out
}

// formulaStarts begin what spreadsheets run, those of East Asian keyboards and
// what they cut off before it included.
const formulaStarts = "=+-@\t\r\n＝＋－＠"

// defused is a text that no spreadsheet takes for a formula.
func defused(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	if text != "" && strings.ContainsRune(formulaStarts, first) {
		return "'" + text
	}
	return text
}

// cellOf writes an answer into one cell; none is an empty one.
func cellOf(answer json.RawMessage) string {
	if len(answer) == 0 {
		return ""
	}
	var text string
	var list []string
	switch answer[0] {
	case '"':
		_ = json.Unmarshal(answer, &text) // accept wrote it
		return defused(text)
	case '[':
		_ = json.Unmarshal(answer, &list)
		return defused(strings.Join(list, "; "))
	}
	return string(answer) // a number
}

// resultColumns are those of an export of results.
var resultColumns = []string{
	"value", "from", "asked", "answered", "responses", "waitSeconds", "question", "label", "n", "mean", "nps", "csat", "ces", "answer", "answerLabel", "count",
}

// ExportCSV writes what q counts as CSV (RFC 4180, UTF-8) with a header: a line for each
// answer to each question of each group, or for the question or the group if it has none.
// Labels are in English, or in the definition's own first language. Formulas are
// written as by [Responses.ExportCSV].
func (s Results) ExportCSV(ctx context.Context, scope Scope, w io.Writer, q ResultQuery) error {
	got, err := s.Get(ctx, scope, q)
	if err != nil {
		return err
	}
	var v *version
	err = s.read(ctx, func(from driver.Reader) (err error) {
		v, err = s.latest(ctx, from, scope, q.SurveyID)
		return err
	})
	if err != nil {
		return fmt.Errorf("survey: Results of survey %d: %w", q.SurveyID, err)
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	lines := [][]string{resultColumns}
	for _, g := range got.Groups {
		lines = append(lines, g.lines(v)...)
	}
	return out.WriteAll(lines)
}

func (g *ResultGroup) lines(v *version) (out [][]string) {
	from := ""
	if !g.From.IsZero() {
		from = g.From.Format(time.DateOnly)
	}
	row := []string{defused(g.Value), from, strconv.Itoa(g.Asked), strconv.Itoa(g.Answered), strconv.Itoa(g.Responses), strconv.Itoa(int(g.Wait / time.Second))}
	if len(g.Questions) == 0 {
		out = append(out, append(row, make([]string, len(resultColumns)-len(row))...))
	}
	for _, q := range g.Questions {
		of := append(slices.Clone(row), q.ID, defused(v.label(q.ID)), strconv.Itoa(q.N), figure(q.Mean()), figure(q.NPS()), figure(q.CSAT()), figure(q.CES()))
		for _, c := range q.Counts {
			out = append(out, append(slices.Clone(of), defused(c.Value), defused(v.optionLabel(q.ID, c.Value)), strconv.Itoa(c.N)))
		}
		if len(q.Counts) == 0 {
			out = append(out, append(of, "", "", ""))
		}
	}
	return out
}

// figure is a number with two digits behind the point; empty: none.
func figure(f float64, ok bool) string {
	if !ok {
		return ""
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// exportLocale is the language of labels in exports.
const exportLocale = "en"

// label is what a question is called; of no version, and without a label, its id.
func (v *version) label(id string) string {
	if v != nil {
		return v.Definition.Label(id, exportLocale)
	}
	return id
}

// optionLabel is what an answer is called.
func (v *version) optionLabel(id, value string) string {
	if v != nil {
		return v.Definition.OptionLabel(id, value, exportLocale)
	}
	return value
}
