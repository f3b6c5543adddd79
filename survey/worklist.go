package survey

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// WorkState says how far a desk has come with a response.
type WorkState string

// The states of a [WorkItem].
const (
	WorkOpen     WorkState = "Open"     // not assigned
	WorkAssigned WorkState = "Assigned" // Assignee deals with it
	WorkHandled  WorkState = "Handled"  // HandledBy has dealt with it, and Note says how
)

// WorkItem is a response with what a desk needs to deal with it.
type WorkItem struct {
	StoredResponse
	Survey string // its name; empty if its version cannot be read
	// Score is the lowest rating of the response, from 0 (the worst step of its scale) to
	// 100; false for Rated: it has none.
	Score int
	Rated bool
	// Unhappy says that it was what its version calls [form.Definition.Unhappy].
	Unhappy bool
	// Queue is the value at [form.Definition.Queue]; it may be empty.
	Queue string
	// Texts are the answers as the customer saw them, in the order of the questions.
	// Comments are those of them that the customer wrote.
	Texts, Comments []AnswerText
	// RecipientAddress is where the link went, and Event the payload of its event; empty
	// if they are erased or forgotten.
	RecipientAddress string
	Event            []byte
	State            WorkState
	// Assignee is set by [Support.Assign]; HandledOn, HandledBy and Note by [Support.Handle].
	Assignee  string
	HandledOn time.Time
	HandledBy string
	Note      string
}

// AnswerText is an answer as people read it: options by their labels.
type AnswerText struct {
	QuestionID, Label, Text string
}

// WorklistQuery selects unhappy responses.
type WorklistQuery struct {
	SurveyID int64 // zero: of all surveys
	// BusinessUnits are those that the caller may see; nil: all.
	BusinessUnits []string
	// State is that of the responses; empty: open and assigned ones.
	State WorkState
	// Assignee and Queue are those of the responses; empty: all.
	Assignee, Queue string
	// Since and Until bound when responses were submitted: from Since on, before Until. Zero:
	// unbounded.
	Since, Until time.Time
	storage.Page
}

// WorklistPage is a page of a worklist.
type WorklistPage struct {
	Items []WorkItem
	Next  string // where the next page begins; empty after the last
	// Total is how many responses the query selects, and Queues how many there are in each queue
	// for the same query without its Queue, in the order of their names. Both are counted up to
	// [WorklistCounted].
	Total  int
	Queues []QueueCount
}

// QueueCount is how many responses a queue has.
type QueueCount struct {
	Queue string
	N     int
}

// WorklistCounted bounds how many responses a worklist counts.
const WorklistCounted = 1000

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

// Worklist lists the responses to surveys that their versions call [form.Definition.Unhappy],
// the newest first; with [WorkHandled] those that were handled, the last one handled first.
// Versions that do not say what is unhappy have none. It shows personal data.
func (s Support) Worklist(ctx context.Context, scope Scope, q WorklistQuery) (out WorklistPage, err error) {
	err = s.read(ctx, func(from driver.Reader) (err error) {
		out, err = s.worklist(ctx, from, scope, q)
		return err
	})
	if err != nil {
		return WorklistPage{}, fmt.Errorf("survey: Worklist: %w", err)
	}
	return out, nil
}

func (s Support) worklist(ctx context.Context, from driver.Reader, scope Scope, q WorklistQuery) (out WorklistPage, err error) {
	where, orderBy, err := q.where()
	if err != nil {
		return out, err
	}
	if out.Queues, err = queues(ctx, from, scope, where, orderBy); err != nil {
		return out, err
	}
	if q.Queue != "" {
		where = append(where, driver.Eq("queue", q.Queue))
	}
	if out.Total, err = responses.Count(ctx, from, scope, WorklistCounted, where...); err != nil {
		return out, err
	}
	rows, next, err := responses.Page(ctx, from, scope, q.Page, driver.Query{Where: where, OrderBy: orderBy, Desc: true})
	if err != nil {
		return out, err
	}
	out.Next = next
	out.Items, err = s.workItems(ctx, from, scope, rows)
	return out, err
}

// where selects the responses of all queues, in the order of a column.
func (q *WorklistQuery) where() (where []driver.Cond, orderBy string, err error) {
	where, orderBy, err = q.ofState()
	if err != nil {
		return nil, "", err
	}
	if q.SurveyID != 0 {
		where = append(where, driver.Eq("survey_id", q.SurveyID))
	}
	if q.Assignee != "" {
		where = append(where, driver.Eq("assignee", q.Assignee))
	}
	if q.BusinessUnits != nil {
		where = append(where, driver.In("business_unit", q.BusinessUnits))
	}
	if !q.Since.IsZero() {
		where = append(where, driver.AtLeast("submitted_on", q.Since))
	}
	if !q.Until.IsZero() {
		where = append(where, driver.Less("submitted_on", q.Until))
	}
	return where, orderBy, nil
}

func (q *WorklistQuery) ofState() (where []driver.Cond, orderBy string, err error) {
	open := []driver.Cond{driver.Null("handled_on"), driver.Eq("unhappy", true), driver.NotNull("submitted_on")}
	switch q.State {
	case "":
		return open, "submitted_on", nil
	case WorkOpen:
		return append(open, driver.Eq("assignee", "")), "submitted_on", nil
	case WorkAssigned:
		return append(open, driver.Greater("assignee", "")), "submitted_on", nil
	case WorkHandled:
		return []driver.Cond{driver.NotNull("handled_on")}, "handled_on", nil
	}
	return nil, "", fmt.Errorf("the State %.40q is not one of Open, Assigned and Handled", string(q.State))
}

// queues counts the responses of each queue.
func queues(ctx context.Context, from driver.Reader, scope Scope, where []driver.Cond, orderBy string) (out []QueueCount, err error) {
	groups, err := responses.CountBy(ctx, from, scope, driver.CountBy{By: []string{"queue"}, Where: where, OrderBy: orderBy, Limit: WorklistCounted})
	for _, g := range groups {
		out = append(out, QueueCount{g.Row.Queue, g.N})
	}
	slices.SortFunc(out, func(a, b QueueCount) int { return cmp.Compare(a.Queue, b.Queue) })
	return out, err
}

// versionsRead are the versions that were read, each once; nil is one that cannot be read.
type versionsRead map[versionRef]*version

func (k versionsRead) of(ctx context.Context, from driver.Reader, s *core, r *responseRow) (*version, error) {
	ref := versionRef{Scope: r.Scope, SurveyID: r.SurveyID, Number: r.SurveyVersion}
	if v, ok := k[ref]; ok {
		return v, nil
	}
	v, err := s.versionOf(ctx, from, r.Scope, r.SurveyID, r.SurveyVersion)
	if err != nil && !unreadable(err) {
		return nil, err
	}
	k[ref] = v
	return v, nil
}

// workItems adds what the links and the versions of responses say.
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
		StoredResponse: r.stored(), Score: r.Score, Rated: r.Score < unrated, Unhappy: r.Unhappy, Queue: r.Queue,
		State: r.state(), Assignee: r.Assignee, HandledOn: r.HandledOn, HandledBy: r.HandledBy, Note: r.Note,
	}
	if !out.Rated {
		out.Score = 0
	}
	if link != nil {
		out.RecipientAddress, out.Event = link.RecipientAddress, link.Metadata
	}
	if v != nil {
		out.Survey = v.Name
		out.Texts, out.Comments = r.answerTexts(v, link)
	}
	return out
}

func (r *responseRow) state() WorkState {
	switch {
	case !r.HandledOn.IsZero():
		return WorkHandled
	case r.Assignee != "":
		return WorkAssigned
	}
	return WorkOpen
}

// answerTexts are the answers as the customer saw them, and those that the customer wrote.
func (r *responseRow) answerTexts(v *version, link *instanceRow) (all, written []AnswerText) {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(r.Answers, &given) // an object: accept wrote it
	for i := range v.Questions {
		q := &v.Questions[i]
		if len(given[q.ID]) == 0 {
			continue
		}
		label := v.label(q.ID, exportLocale)
		if link != nil {
			label = form.Fill(q.Name(exportLocale), form.LinkData{Metadata: link.Metadata})
		}
		text := AnswerText{q.ID, label, v.answerText(q.ID, given[q.ID], exportLocale)}
		all = append(all, text)
		if q.Type.Written() {
			written = append(written, text)
		}
	}
	return all, written
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
			if !q.Type.Written() || json.Unmarshal(answers[q.ID], &text) != nil {
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

// Assignment changes who deals with a response: From had it, and To has it from now on. Empty:
// it is not assigned.
type Assignment struct{ From, To string }

// Assign changes who deals with a response. Like other actions it is audited. The error wraps
// [ErrActionRefused] if the response is handled or is not a.From's, and storage.ErrNotFound where
// scope has no such response.
func (s Support) Assign(ctx context.Context, scope Scope, publicID string, a Assignment, by By) error {
	// To is bound like an actor.
	if err := (By{Actor: cmp.Or(a.To, by.Actor), Reason: by.Reason}).Check(); err != nil {
		return fmt.Errorf("survey: Assign: %w", err)
	}
	return s.onWork(ctx, scope, publicID, "Assign", by, func(r *responseRow, _ time.Time) string {
		switch {
		case !r.HandledOn.IsZero():
			return "it is handled"
		case r.Assignee != a.From:
			return "another person has taken or released it meanwhile"
		}
		r.Assignee = a.To
		return ""
	})
}

// Handle takes a response off the worklist: by.Actor has dealt with it, and by.Reason is
// the note that stays with it. Like other actions it is audited. The error wraps
// [ErrActionRefused] if it was handled before, and storage.ErrNotFound where scope has no such
// response.
func (s Support) Handle(ctx context.Context, scope Scope, publicID string, by By) error {
	return s.onWork(ctx, scope, publicID, "Handle", by, func(r *responseRow, now time.Time) string {
		if !r.HandledOn.IsZero() {
			return "it was handled before"
		}
		r.HandledOn, r.HandledBy, r.Note = now, by.Actor, by.Reason
		return ""
	})
}

func (s Support) onWork(ctx context.Context, scope Scope, publicID, action string, by By, change func(*responseRow, time.Time) string) error {
	err := s.inTx(ctx, func(tx storage.Tx) error {
		return audit.Change(ctx, tx, responses, scope, publicID, action, by, change)
	})
	if err != nil {
		return fmt.Errorf("survey: %s: %w", action, err)
	}
	return nil
}
