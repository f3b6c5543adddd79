package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// responseRow is the one response to an instance; Key is the instance's PublicID,
// so that the unique key decides among concurrent submits. It is written once and
// never due.
type responseRow struct {
	storage.Record
	SurveyID      int64  `db:"survey_id,fixed"`
	SurveyVersion int64  `db:"survey_version,fixed"`
	TriggerID     string `db:"trigger_id,fixed,plain"`
	BusinessUnit  string `db:"business_unit,fixed,plain"`
	CustomerRef   string `db:"customer_ref,fixed,person"`
	AgentID       string `db:"agent_id,fixed,person"`
	// AnswersHash and IdempotencyKey (hashed) tell a repeat from another response.
	AnswersHash    string          `db:"answers_hash,fixed,plain"`
	IdempotencyKey string          `db:"idempotency_key,fixed,plain"`
	Answers        json.RawMessage `db:"answers,fixed,json,content"`
	CompletedOn    time.Time       `db:"completed_on,fixed"`
	SubmittedOn    time.Time       `db:"submitted_on,fixed"`
}

var responses = driver.Define[responseRow]("survey_response").Grows(driver.WithWork).Limit(form.MaxAnswers + 8<<10)

// answerRow is one answer, for a host's own SQL; Key is the PublicID and the
// question. It is written once and never due.
type answerRow struct {
	storage.Record
	PublicID   string          `db:"public_id,fixed,plain"`
	SurveyID   int64           `db:"survey_id,fixed"`
	QuestionID string          `db:"question_id,fixed,plain"`
	Value      json.RawMessage `db:"value,fixed,json,content"`
}

var answers = driver.Define[answerRow]("survey_answer").Grows(driver.WithWork).Limit(form.MaxAnswers + 8<<10)

// responseOf is the row of a response that was accepted just now.
func responseOf(row *Instance, r Response, a *form.Answers) *responseRow {
	return &responseRow{
		Record:   storage.Record{Scope: row.Scope, Key: row.PublicID},
		SurveyID: row.SurveyID, SurveyVersion: row.SurveyVersion, TriggerID: row.TriggerID, BusinessUnit: row.BusinessUnit,
		CustomerRef: row.CustomerRef, AgentID: r.AgentID, AnswersHash: a.Hash, IdempotencyKey: r.keyHash(), Answers: a.JSON,
		CompletedOn: row.CompletedOn, SubmittedOn: row.EndedOn,
	}
}

// answersOf are the rows of its answers.
func answersOf(r *responseRow, a *form.Answers) []*answerRow {
	rows := make([]*answerRow, len(a.Order))
	for i, id := range a.Order {
		value, _ := json.Marshal(a.Values[id]) // it was written as JSON before
		rows[i] = &answerRow{
			Record:   storage.Record{Scope: r.Scope, Key: r.Key + "\x1f" + id},
			PublicID: r.Key, SurveyID: r.SurveyID, QuestionID: id, Value: value,
		}
	}
	return rows
}

// StoredResponse is a response as it was taken.
type StoredResponse struct {
	// Position is where the next page goes on: see [ResponseQuery].
	Position      string    `json:"-"`
	PublicID      string    `json:"publicId"` // of its instance
	SurveyID      int64     `json:"surveyId"`
	SurveyVersion int64     `json:"surveyVersion"`
	TriggerID     string    `json:"triggerId"`
	BusinessUnit  string    `json:"businessUnit,omitempty"`
	CustomerRef   string    `json:"customerRef,omitempty"`
	AgentID       string    `json:"agentId,omitempty"`
	CompletedOn   time.Time `json:"completedAt"`
	SubmittedOn   time.Time `json:"submittedAt"`
	// Answers are a JSON object by question id, its keys sorted.
	Answers json.RawMessage `json:"answers"`
}

// ResponseQuery selects responses to one survey.
type ResponseQuery struct {
	SurveyID int64
	// BusinessUnits are those that the caller may see; nil: all.
	BusinessUnits []string
	// Since and Until bound when responses were submitted: from Since on, before
	// Until. Zero: unbounded.
	Since, Until time.Time
	// After is the Position of the last response of the page before. Empty begins at
	// the beginning.
	After string
	// Limit is how many come back at most; zero, or more, means 1000.
	Limit int
}

// maxPage bounds what one call of a listing gives.
const maxPage = 1000

// List lists responses in the order in which they were submitted. However many
// there are, it reads only those of its page.
func (s Responses) List(ctx context.Context, scope Scope, q ResponseQuery) (out []StoredResponse, err error) {
	err = s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := q.find(ctx, tx, scope)
		out = make([]StoredResponse, len(rows))
		for i, r := range rows {
			out[i] = r.stored()
		}
		return err
	})
	return out, err
}

// Get is the response to an instance, or [storage.ErrNotFound].
func (s Responses) Get(ctx context.Context, scope Scope, publicID string) (out StoredResponse, err error) {
	if scope == storage.AnyScope {
		return out, errAnyScope
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		row, err := responses.Get(ctx, tx, scope, publicID)
		if err != nil {
			return err
		}
		out = row.stored()
		return nil
	})
	return out, err
}

func (q ResponseQuery) find(ctx context.Context, tx storage.Tx, scope Scope, columns ...string) ([]*responseRow, error) {
	if scope == storage.AnyScope {
		return nil, errAnyScope
	}
	where, after, err := q.span()
	if err != nil {
		return nil, err
	}
	query := driver.Query{Columns: columns, Where: where, OrderBy: "submitted_on", Limit: q.Limit, After: after}
	if len(columns) > 0 {
		query.Columns = append(slices.Clone(columns), "submitted_on") // a part of the position
	}
	if q.Limit <= 0 || q.Limit > maxPage {
		query.Limit = maxPage
	}
	return responses.Find(ctx, tx, scope, query)
}

// span says which part of the index is read. It begins behind After or at Since, but
// with one of the two: of two beginnings a database may choose the wrong one.
func (q ResponseQuery) span() (where []driver.Cond, after *driver.Position, err error) {
	where = []driver.Cond{driver.Eq("survey_id", q.SurveyID)}
	if q.BusinessUnits != nil {
		where = append(where, driver.In("business_unit", q.BusinessUnits))
	}
	if !q.Until.IsZero() {
		where = append(where, driver.Less("submitted_on", q.Until))
	}
	on, id, err := parsePosition(q.After)
	switch {
	case err != nil:
		return nil, nil, err
	case q.After != "" && !on.Before(q.Since):
		return where, &driver.Position{Value: on, ID: id}, nil
	case !q.Since.IsZero():
		return append(where, driver.AtLeast("submitted_on", q.Since)), nil, nil
	}
	return append(where, driver.NotNull("submitted_on")), nil, nil
}

func (r *responseRow) stored() StoredResponse {
	return StoredResponse{
		Position: r.position(), PublicID: r.Key, SurveyID: r.SurveyID, SurveyVersion: r.SurveyVersion, TriggerID: r.TriggerID,
		BusinessUnit: r.BusinessUnit, CustomerRef: r.CustomerRef, AgentID: r.AgentID,
		CompletedOn: r.CompletedOn, SubmittedOn: r.SubmittedOn, Answers: r.Answers,
	}
}

// position is the place of a response in the order of their moments.
func (r *responseRow) position() string {
	return strconv.FormatInt(r.SubmittedOn.UnixMicro(), 36) + "." + strconv.FormatInt(r.ID, 36)
}

// parsePosition reads a position; an empty one is at the beginning.
func parsePosition(text string) (on time.Time, id int64, err error) {
	if text == "" {
		return time.Time{}, 0, nil
	}
	moment, row, _ := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(moment, 36, 64)
	id, bad := strconv.ParseInt(row, 36, 64)
	if errors.Join(err, bad) != nil {
		return time.Time{}, 0, fmt.Errorf("%w: the After %.40q", errNoRow, text)
	}
	return time.UnixMicro(micros).UTC(), id, nil
}
