package survey

import (
	"bufio"
	"cmp"
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

	"github.com/belfry-go/belfry/internal/spreadsheet"
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

// CSVOptions say how a CSV is written; nil and every zero value are useful.
type CSVOptions struct {
	// Comma is between the cells; zero: a comma. With a semicolon, which spreadsheets of
	// languages with a decimal comma want, numbers have that.
	Comma rune
	// Labels call questions and options as customers see them; false: by their ids and values.
	Labels bool
	// Locale is the language of labels; empty: English.
	Locale string
	// Zone is that of times, which are written as spreadsheets read them, and is named in the
	// header; nil: UTC, as RFC 3339 has it.
	Zone *time.Location
}

// csvWriter writes cells as its options say.
type csvWriter struct {
	CSVOptions
	*csv.Writer
}

func newCSV(w io.Writer, o *CSVOptions) *csvWriter {
	out := &csvWriter{Writer: csv.NewWriter(w)}
	if o != nil {
		out.CSVOptions = *o
	}
	out.Writer.Comma = cmp.Or(out.CSVOptions.Comma, ',')
	out.Writer.UseCRLF = true
	out.Locale = cmp.Or(out.Locale, exportLocale)
	return out
}

func (c *csvWriter) time(t time.Time) string {
	if c.Zone == nil {
		return t.Format(time.RFC3339Nano)
	}
	return t.In(c.Zone).Format(time.DateTime)
}

func (c *csvWriter) number(text string) string {
	if c.CSVOptions.Comma == ';' {
		return strings.Replace(text, ".", ",", 1)
	}
	return text
}

// ExportCSV writes the responses that q selects as CSV (RFC 4180, UTF-8) with a
// header, and says how many. There is a column for each dimension, and a column answers.<id>
// for each question of all versions among them, in the order of the versions and their
// questions; with labels they are called by these. The options of a multiple choice are
// joined by "; ".
//
// A spreadsheet would run a text that begins like a formula. So a text that begins
// with =, +, -, @, a tab or a line break gets an apostrophe before it; numbers stay
// as they are. Like [Responses.ExportJSONLines] it holds one page of responses.
func (s Responses) ExportCSV(ctx context.Context, scope Scope, w io.Writer, q ResponseQuery, o *CSVOptions) (int, error) {
	numbers, err := s.versionsAmong(ctx, scope, q)
	if err != nil {
		return 0, err
	}
	of, err := s.sheetOf(ctx, scope, q.SurveyID, numbers)
	if err != nil {
		return 0, err
	}
	out := newCSV(w, o)
	if err := out.Write(of.header(out)); err != nil {
		return 0, err
	}
	n, err := s.walk(ctx, scope, q, nil, func(page []*responseRow) error {
		for _, r := range page {
			if of.versions[r.SurveyVersion] == nil {
				return errNewVersion
			}
			if err := out.Write(of.cells(out, r)); err != nil {
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

// sheet says which columns an export of some versions has.
type sheet struct {
	versions   map[int64]*version
	dimensions []string
	questions  []string            // by id
	last       map[string]*version // the last version with a question
}

func (s Responses) sheetOf(ctx context.Context, scope Scope, surveyID int64, numbers []int64) (*sheet, error) {
	out := &sheet{versions: map[int64]*version{}, last: map[string]*version{}}
	for _, n := range numbers {
		var v *version
		err := s.read(ctx, func(from driver.Reader) (err error) {
			v, err = s.versionOf(ctx, from, scope, surveyID, n)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("survey: version %d: %w", n, err)
		}
		out.versions[n] = v
		for _, path := range v.Dimensions {
			if !slices.Contains(out.dimensions, path) {
				out.dimensions = append(out.dimensions, path)
			}
		}
		for _, q := range v.Questions {
			if !q.Type.Asks() {
				continue
			}
			if out.last[q.ID] == nil {
				out.questions = append(out.questions, q.ID)
			}
			out.last[q.ID] = v
		}
	}
	return out, nil
}

// header names the columns. Two questions of one label have their ids behind it.
func (s *sheet) header(c *csvWriter) []string {
	out := slices.Clone(exportColumns)
	for i, name := range out {
		if c.Zone != nil && (name == "completedAt" || name == "submittedAt") {
			out[i] = name + " (" + c.Zone.String() + ")"
		}
	}
	for _, path := range s.dimensions {
		if c.Labels {
			path = strings.TrimPrefix(path, "candidate.")
		}
		out = append(out, spreadsheet.Defused(path))
	}
	times := map[string]int{}
	label := func(id string) string { return s.last[id].Label(id, c.Locale) }
	for _, id := range s.questions {
		times[label(id)]++
	}
	for _, id := range s.questions {
		name := "answers." + id
		if c.Labels {
			if name = label(id); times[name] > 1 {
				name += " (" + id + ")"
			}
		}
		out = append(out, spreadsheet.Defused(name))
	}
	return out
}

// cells are a response as a record of CSV.
func (s *sheet) cells(c *csvWriter, r *responseRow) []string {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(r.Answers, &given) // an object: accept wrote it
	out := []string{
		r.Key, strconv.FormatInt(r.SurveyID, 10), strconv.FormatInt(r.SurveyVersion, 10),
		spreadsheet.Defused(r.TriggerID), spreadsheet.Defused(r.BusinessUnit), spreadsheet.Defused(r.CustomerRef), spreadsheet.Defused(r.AgentID), spreadsheet.Defused(r.Locale),
		c.time(r.CompletedOn), c.time(r.SubmittedOn),
	}
	for _, path := range s.dimensions {
		out = append(out, spreadsheet.Defused(r.Dimensions[path]))
	}
	for _, id := range s.questions {
		out = append(out, c.answer(s.versions[r.SurveyVersion], id, given[id]))
	}
	return out
}

// answer writes an answer into one cell; none is an empty one.
func (c *csvWriter) answer(v *version, id string, answer json.RawMessage) string {
	if !c.Labels {
		v = nil
	}
	text := v.answerText(id, answer, c.Locale)
	if len(answer) > 0 && answer[0] != '"' && answer[0] != '[' {
		return c.number(text)
	}
	return spreadsheet.Defused(text)
}

// answerText is an answer as people read it, its options by their labels and joined by "; "; of
// no version by their values.
func (v *version) answerText(id string, answer json.RawMessage, locale string) string {
	var text string
	var list []string
	switch {
	case len(answer) == 0:
		return ""
	case answer[0] == '"':
		_ = json.Unmarshal(answer, &text) // accept wrote it
		return v.optionLabel(id, text, locale)
	case answer[0] == '[':
		_ = json.Unmarshal(answer, &list)
		for i, value := range list {
			list[i] = v.optionLabel(id, value, locale)
		}
		return strings.Join(list, "; ")
	}
	return string(answer)
}

// resultColumns are those of an export of results.
var resultColumns = []string{
	"value", "from", "asked", "opened", "answered", "responses", "waitSeconds", "question", "label", "n", "mean", "nps", "csat", "ces", "answer", "answerLabel", "count",
}

// ExportCSV writes what q counts as CSV (RFC 4180, UTF-8) with a header: a line for each
// answer to each question of each group, or for the question or the group if it has none; of a
// ranking the mean is the mean place of the option, and the count how often it was first.
// It always has labels beside the ids. Formulas are written as by [Responses.ExportCSV].
func (s Results) ExportCSV(ctx context.Context, scope Scope, w io.Writer, q ResultQuery, o *CSVOptions) error {
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
	out := newCSV(w, o)
	lines := [][]string{resultColumns}
	for _, g := range got.Groups {
		lines = append(lines, g.lines(v, out)...)
	}
	return out.WriteAll(lines)
}

func (g *ResultGroup) lines(v *version, c *csvWriter) (out [][]string) {
	from := ""
	if !g.From.IsZero() {
		from = g.From.Format(time.DateOnly)
	}
	row := []string{spreadsheet.Defused(g.Value), from, strconv.Itoa(g.Asked), strconv.Itoa(g.Opened), strconv.Itoa(g.Answered), strconv.Itoa(g.Responses), strconv.Itoa(int(g.Wait / time.Second))}
	if len(g.Questions) == 0 {
		out = append(out, append(row, make([]string, len(resultColumns)-len(row))...))
	}
	for _, q := range g.Questions {
		of := append(slices.Clone(row), q.ID, spreadsheet.Defused(v.label(q.ID, c.Locale)), strconv.Itoa(q.N))
		for _, figure := range []string{figure(q.Mean()), figure(q.NPS()), figure(q.CSAT()), figure(q.CES())} {
			of = append(of, c.number(figure))
		}
		for _, n := range q.Counts {
			of := slices.Clone(of)
			if n.Place > 0 {
				of[slices.Index(resultColumns, "mean")] = c.number(figure(n.Place, true))
			}
			out = append(out, append(of, spreadsheet.Defused(n.Value), spreadsheet.Defused(v.optionLabel(q.ID, n.Value, c.Locale)), strconv.Itoa(n.N)))
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

// exportLocale is the language of labels unless another is asked for.
const exportLocale = "en"

// label is what a question is called; of no version, and without a label, its id.
func (v *version) label(id, locale string) string {
	if v != nil {
		return v.Definition.Label(id, locale)
	}
	return id
}

// optionLabel is what an answer is called.
func (v *version) optionLabel(id, value, locale string) string {
	if v != nil {
		return v.Definition.OptionLabel(id, value, locale)
	}
	return value
}
