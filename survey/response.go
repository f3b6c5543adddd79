package survey

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// responseRow is the one response to an instance; Key is the instance's PublicID,
// so that the unique key decides among concurrent submits. Only what a desk
// does about it is written later; it is never due.
type responseRow struct {
	storage.Record
	SurveyID      int64  `db:"survey_id,fixed"`
	SurveyVersion int64  `db:"survey_version,fixed"`
	TriggerID     string `db:"trigger_id,fixed,plain"`
	BusinessUnit  string `db:"business_unit,fixed,plain"`
	CustomerRef   string `db:"customer_ref,fixed,person"`
	AgentID       string `db:"agent_id,fixed,person"`
	Locale        string `db:"locale,fixed,plain"`
	// AnswersHash and IdempotencyKey (hashed) tell a repeat from another response.
	AnswersHash    string          `db:"answers_hash,fixed,plain"`
	IdempotencyKey string          `db:"idempotency_key,fixed,plain"`
	Answers        json.RawMessage `db:"answers,fixed,json,content"`
	CompletedOn    time.Time       `db:"completed_on,fixed"`
	SubmittedOn    time.Time       `db:"submitted_on,fixed"`
	// Score is the lowest rating, from 0 to 100, or unrated. Unhappy says that the version calls
	// it so: it is in the worklist, under its Queue. Assignee deals with it; HandledOn, HandledBy
	// and Note say who did.
	Score     int       `db:"score,fixed"`
	Unhappy   bool      `db:"unhappy,fixed"`
	Queue     string    `db:"queue,fixed,indexed,plain"`
	Assignee  string    `db:"assignee,person"`
	HandledOn time.Time `db:"handled_on"`
	HandledBy string    `db:"handled_by,person"`
	Note      string    `db:"note,content"`
	// Dimensions are their values of its link, but for the unit.
	Dimensions map[string]string `db:"dimensions,fixed,json,plain"`
}

var responses = driver.Define[responseRow]("survey_response").Grows(driver.WithWork).
	Kept("Retention.Responses", "what customers have said; results keep their counts without it").Limit(form.MaxAnswers + 8<<10)

// answerRow is one answer, for a host's own SQL; Key is the PublicID and the
// question. It is written once and never due.
type answerRow struct {
	storage.Record
	PublicID   string          `db:"public_id,fixed,indexed,plain"`
	SurveyID   int64           `db:"survey_id,fixed"`
	QuestionID string          `db:"question_id,fixed,plain"`
	Value      json.RawMessage `db:"value,fixed,json,content"`
	// SubmittedOn is that of the response.
	SubmittedOn time.Time `db:"submitted_on,fixed"`
}

var answers = driver.Define[answerRow]("survey_answer").Grows(driver.WithWork).
	Kept("Retention.Responses", "as its response").Limit(form.MaxAnswers + 8<<10)

// responseOf is the row of a response that was accepted just now.
func responseOf(row *instanceRow, v *version, r Response, a *form.Answers) *responseRow {
	return &responseRow{
		Record:   storage.Record{Scope: row.Scope, Key: row.PublicID},
		SurveyID: row.SurveyID, SurveyVersion: row.SurveyVersion, TriggerID: row.TriggerID, BusinessUnit: row.BusinessUnit,
		CustomerRef: row.CustomerRef, AgentID: r.AgentID, Locale: r.Locale, AnswersHash: a.Hash, IdempotencyKey: r.keyHash(), Answers: a.JSON,
		CompletedOn: row.CompletedOn, SubmittedOn: row.EndedOn, Dimensions: underOf(row, v),
		Score: scoreOf(&v.Definition, a), Unhappy: v.Unhappy != nil && v.Unhappy.Match(a.Values), Queue: queueOf(row, v),
	}
}

// answersOf are the rows of its answers.
func answersOf(r *responseRow, a *form.Answers) []*answerRow {
	rows := make([]*answerRow, len(a.Order))
	for i, id := range a.Order {
		value, _ := json.Marshal(a.Values[id]) // it was written as JSON before
		rows[i] = &answerRow{
			Record:   storage.Record{Scope: r.Scope, Key: r.Key + "\x1f" + id},
			PublicID: r.Key, SurveyID: r.SurveyID, QuestionID: id, Value: value, SubmittedOn: r.SubmittedOn,
		}
	}
	return rows
}

// StoredResponse is a response as it was taken.
type StoredResponse struct {
	PublicID      string    `json:"publicId"` // of its instance
	SurveyID      int64     `json:"surveyId"`
	SurveyVersion int64     `json:"surveyVersion"`
	TriggerID     string    `json:"triggerId"`
	BusinessUnit  string    `json:"businessUnit,omitempty"`
	CustomerRef   string    `json:"customerRef,omitempty"`
	AgentID       string    `json:"agentId,omitempty"`
	Locale        string    `json:"locale,omitempty"` // that the form was filled in in
	CompletedOn   time.Time `json:"completedAt"`
	SubmittedOn   time.Time `json:"submittedAt"`
	// Answers are a JSON object by question id, its keys sorted.
	Answers json.RawMessage `json:"answers"`
}

// ResponseQuery selects responses to one survey.
type ResponseQuery struct {
	SurveyID int64 // required
	// BusinessUnits are those that the caller may see; nil: all.
	BusinessUnits []string
	// Since and Until bound when responses were submitted: from Since on, before
	// Until. Zero: unbounded.
	Since, Until time.Time
	storage.Page
}

// List lists responses in the order in which they were submitted, and says where the
// next page begins; empty after the last. However many there are, it reads only those
// of its page.
func (s Responses) List(ctx context.Context, scope Scope, q ResponseQuery) (out []StoredResponse, next string, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		rows, after, err := q.find(ctx, from, scope)
		out, next = make([]StoredResponse, len(rows)), after
		for i, r := range rows {
			out[i] = r.stored()
		}
		return err
	})
	return out, next, err
}

// Get is the response to an instance, or [storage.ErrNotFound].
func (s Responses) Get(ctx context.Context, scope Scope, publicID string) (out StoredResponse, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		row, err := responses.Get(ctx, from, scope, publicID)
		if err != nil {
			return err
		}
		out = row.stored()
		return nil
	})
	return out, err
}

// find reads the page, and says where the next one begins.
func (q ResponseQuery) find(ctx context.Context, from driver.Reader, scope Scope, columns ...string) ([]*responseRow, string, error) {
	where, p, err := q.span()
	if err != nil {
		return nil, "", err
	}
	query := driver.Query{Columns: columns, Where: where, OrderBy: "submitted_on"}
	if len(columns) > 0 {
		query.Columns = append(slices.Clone(columns), "submitted_on") // a part of the position
	}
	return responses.Page(ctx, from, scope, p, query)
}

// span says which part of the index is read. It begins behind After or at Since, but
// with one of the two: of two beginnings a database may choose the wrong one.
func (q ResponseQuery) span() (where []driver.Cond, p storage.Page, err error) {
	if q.SurveyID == 0 {
		return nil, p, errors.New("survey: a ResponseQuery has to name a SurveyID")
	}
	where = []driver.Cond{driver.Eq("survey_id", q.SurveyID)}
	if q.BusinessUnits != nil {
		where = append(where, driver.In("business_unit", q.BusinessUnits))
	}
	if !q.Until.IsZero() {
		where = append(where, driver.Less("submitted_on", q.Until))
	}
	after, err := driver.ParsePosition(q.After)
	if err != nil {
		return nil, p, err
	}
	if after != nil {
		if on, dated := after.Value.(time.Time); dated && on.Before(q.Since) {
			q.After = ""
		}
	}
	switch {
	case q.After != "":
		return where, q.Page, nil
	case !q.Since.IsZero():
		return append(where, driver.AtLeast("submitted_on", q.Since)), q.Page, nil
	}
	return append(where, driver.NotNull("submitted_on")), q.Page, nil
}

func (r *responseRow) stored() StoredResponse {
	return StoredResponse{
		PublicID: r.Key, SurveyID: r.SurveyID, SurveyVersion: r.SurveyVersion, TriggerID: r.TriggerID,
		BusinessUnit: r.BusinessUnit, CustomerRef: r.CustomerRef, AgentID: r.AgentID, Locale: r.Locale,
		CompletedOn: r.CompletedOn, SubmittedOn: r.SubmittedOn, Answers: r.Answers,
	}
}
