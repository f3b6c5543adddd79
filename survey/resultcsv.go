package survey

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// resultColumns are those of an export of results.
var resultColumns = []string{
	"value", "from", "asked", "answered", "responses", "waitSeconds", "question", "label", "n", "mean", "nps", "csat", "answer", "answerLabel", "count",
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
		of := append(slices.Clone(row), q.ID, defused(v.label(q.ID)), strconv.Itoa(q.N), figure(q.Mean()), figure(q.NPS()), figure(q.CSAT()))
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
