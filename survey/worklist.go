package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// WorkItem is a response that somebody may have to do something about.
type WorkItem struct {
	StoredResponse
	Survey string // its name; empty if its version cannot be read
	// Score is the lowest rating of the response, from 0 (the worst step of its scale) to
	// 100; false for Rated: it has none.
	Score int
	Rated bool
	// Unhappy says that it is what its version calls [form.Definition.Unhappy]; false where
	// that says nothing.
	Unhappy bool
	// Comments are the answers that are texts, in the order of the questions.
	Comments []Comment
	// RecipientAddress is where the link went, and Event the payload of its event; empty
	// if they are erased or forgotten.
	RecipientAddress string
	Event            []byte
	// HandledOn, HandledBy and Note are what Handle said; zero: nobody has.
	HandledOn time.Time
	HandledBy string
	Note      string

	judged bool // its version says what is unhappy
}

// Comment is a text that a customer wrote.
type Comment struct {
	QuestionID, Label, Text string
}

// WorklistQuery selects responses to one survey for a desk.
type WorklistQuery struct {
	SurveyID int64 // required
	// BusinessUnits are those that the caller may see; nil: all.
	BusinessUnits []string
	storage.Page
}

// unrated is the score of a response without a rating: behind all others.
const unrated = 101

// scoreOf is the lowest rating of a response, from 0 to 100, or unrated.
func scoreOf(d *form.Definition, a *form.Answers) int {
	score := unrated
	for i := range d.Questions {
		q := &d.Questions[i]
		least, most, ok := q.Scale()
		value, answered := a.Values[q.ID].(form.Number)
		if !ok || !answered {
			continue
		}
		step, err := strconv.Atoi(value.String()) // a rating is a whole number
		if q.LowIsBetter {
			step = least + most - step
		}
		if err == nil {
			score = min(score, 100*(step-least)/(most-least))
		}
	}
	return score
}

// Worklist lists the responses that are not handled, of versions that say what is
// [form.Definition.Unhappy] those alone: the lowest score first, those of one score in the
// order in which they were stored. It says where the next page begins; empty after the last.
// It shows personal data.
func (s Support) Worklist(ctx context.Context, scope Scope, q WorklistQuery) (out []WorkItem, next string, err error) {
	err = s.read(ctx, func(from driver.Reader) (err error) {
		out, next, err = s.worklist(ctx, from, scope, q)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("survey: Worklist: %w", err)
	}
	return out, next, nil
}

func (s Support) worklist(ctx context.Context, from driver.Reader, scope Scope, q WorklistQuery) ([]WorkItem, string, error) {
	if q.SurveyID == 0 {
		return nil, "", errors.New("no survey is named")
	}
	after, err := parseWorkPlace(q.After)
	if err != nil {
		return nil, "", err
	}
	where := []driver.Cond{driver.Eq("survey_id", q.SurveyID), driver.Null("handled_on"), driver.Eq("listed", true)}
	if q.BusinessUnits != nil {
		where = append(where, driver.In("business_unit", q.BusinessUnits))
	}
	rows, err := responses.Find(ctx, from, scope, driver.Query{Where: where, OrderBy: "score", After: after, Limit: q.Size() + 1})
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(rows) > q.Size() {
		rows = rows[:q.Size()]
		last := rows[len(rows)-1]
		next = strconv.Itoa(last.Score) + "." + strconv.FormatInt(last.ID, 36)
	}
	out, err := s.workItems(ctx, from, scope, rows)
	return out, next, err
}

// parseWorkPlace reads where a page begins; none is nil.
func parseWorkPlace(text string) (*driver.Position, error) {
	if text == "" {
		return nil, nil
	}
	score, id, ok := strings.Cut(text, ".")
	n, err := strconv.Atoi(score)
	row, bad := strconv.ParseInt(id, 36, 64)
	if !ok || err != nil || bad != nil || n < 0 || n > unrated || row < 0 {
		return nil, fmt.Errorf("%w: %.40q", storage.ErrPage, text)
	}
	return &driver.Position{Value: int64(n), ID: row}, nil
}

// versionsRead are the versions of one survey that were read, each once; nil is one that
// cannot be read.
type versionsRead map[int64]*version

func (k versionsRead) of(ctx context.Context, from driver.Reader, s *core, r *responseRow) (*version, error) {
	if v, ok := k[r.SurveyVersion]; ok {
		return v, nil
	}
	v, err := s.versionOf(ctx, from, r.Scope, r.SurveyID, r.SurveyVersion)
	if err != nil && !unreadable(err) {
		return nil, err
	}
	k[r.SurveyVersion] = v
	return v, nil
}

// workItems adds what the links and the versions of responses to one survey say.
func (s Support) workItems(ctx context.Context, from driver.Reader, scope Scope, rows []*responseRow) ([]WorkItem, error) {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.Key
	}
	links, err := instances.Find(ctx, from, scope, driver.Query{
		Columns: []string{"public_id", "recipient_address", "metadata"}, Where: []driver.Cond{driver.In("public_id", ids)}, Unordered: true, Limit: len(ids) + 1,
	})
	if err != nil {
		return nil, err
	}
	of := map[string]*instanceRow{}
	for _, l := range links {
		of[l.PublicID] = l
	}
	out, known := make([]WorkItem, len(rows)), versionsRead{}
	for i, r := range rows {
		v, err := known.of(ctx, from, s.core, r)
		if err != nil {
			return nil, err
		}
		out[i] = r.workItem(v, of[r.Key])
	}
	return out, nil
}

// workItem is a response with its texts; v is nil if its version cannot be read, and link if
// it is forgotten.
func (r *responseRow) workItem(v *version, link *instanceRow) WorkItem {
	out := WorkItem{
		StoredResponse: r.stored(), Score: r.Score, Rated: r.Score < unrated,
		HandledOn: r.HandledOn, HandledBy: r.HandledBy, Note: r.Note,
	}
	if !out.Rated {
		out.Score = 0
	}
	if link != nil {
		out.RecipientAddress, out.Event = link.RecipientAddress, link.Metadata
	}
	if v != nil {
		out.Survey, out.judged = v.Name, v.Unhappy != nil
		out.Unhappy = out.judged && r.Listed
	}
	for q, text := range r.texts(v) {
		label := v.label(q.ID, exportLocale)
		if link != nil && len(q.Label) > 0 {
			label = form.Fill(q.Label.For(exportLocale), form.LinkData{Metadata: link.Metadata})
		}
		out.Comments = append(out.Comments, Comment{q.ID, label, text})
	}
	return out
}

// texts are the answers that are texts, in the order of the questions; none if v is nil.
func (r *responseRow) texts(v *version) iter.Seq2[*form.Question, string] {
	return func(yield func(*form.Question, string) bool) {
		var answers map[string]json.RawMessage
		if v == nil || json.Unmarshal(r.Answers, &answers) != nil {
			return
		}
		for i := range v.Questions {
			q, text := &v.Questions[i], ""
			if q.Type != form.TextQuestion && q.Type != form.LongTextQuestion || json.Unmarshal(answers[q.ID], &text) != nil {
				continue // no text, or none given
			}
			if !yield(q, text) {
				return
			}
		}
	}
}

// Work is the response to an instance as [Support.Worklist] has it, whether or not it was
// handled. The error wraps storage.ErrNotFound where scope has none. It shows personal
// data.
func (s Support) Work(ctx context.Context, scope Scope, publicID string) (out WorkItem, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		row, err := responses.Get(ctx, from, scope, publicID)
		if err != nil {
			return err
		}
		items, err := s.workItems(ctx, from, scope, []*responseRow{row})
		if err == nil {
			out = items[0]
		}
		return err
	})
	if err != nil {
		return WorkItem{}, fmt.Errorf("survey: response to %.40q: %w", publicID, err)
	}
	return out, nil
}

// Handle takes a response off the worklist: by.Actor has dealt with it, and by.Reason is
// the note that stays with it. Like other actions it is audited. The error wraps
// [ErrActionRefused] if somebody has handled it before, and storage.ErrNotFound where
// scope has no such response.
func (s Support) Handle(ctx context.Context, scope Scope, publicID string, by By) error {
	err := s.inTx(ctx, func(tx storage.Tx) error {
		return audit.Change(ctx, tx, responses, scope, publicID, "Handle", by, func(r *responseRow, now time.Time) string {
			if !r.HandledOn.IsZero() {
				return "it was handled before"
			}
			r.HandledOn, r.HandledBy, r.Note = now, by.Actor, by.Reason
			return ""
		})
	})
	if err != nil {
		return fmt.Errorf("survey: Handle: %w", err)
	}
	return nil
}
