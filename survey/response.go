package survey

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// responseRow is the one response to an instance; Key is the instance's PublicID,
// so that the unique key decides among concurrent submits. It is written once and
// never due.
type responseRow struct {
	storage.Record
	SurveyID      int64  `db:"survey_id,fixed"`
	SurveyVersion int64  `db:"survey_version,fixed"`
	TriggerID     string `db:"trigger_id,fixed"`
	BusinessUnit  string `db:"business_unit,fixed"`
	CustomerRef   string `db:"customer_ref,fixed"`
	AgentID       string `db:"agent_id,fixed"`
	// AnswersHash and IdempotencyKey (hashed) tell a repeat from another response.
	AnswersHash    string          `db:"answers_hash,fixed"`
	IdempotencyKey string          `db:"idempotency_key,fixed"`
	Answers        json.RawMessage `db:"answers,fixed,json"`
	CompletedOn    time.Time       `db:"completed_on,fixed"`
	SubmittedOn    time.Time       `db:"submitted_on,fixed"`
}

// maxAnswers bounds the answers of one response in bytes, as canonical JSON.
const maxAnswers = 32 << 10

var responses = storage.Define[responseRow]("survey_response").Limit(maxAnswers + 8<<10)

// answerRow is one answer, for a host's own SQL; Key is the PublicID and the
// question. It is written once and never due.
type answerRow struct {
	storage.Record
	PublicID   string          `db:"public_id,fixed"`
	SurveyID   int64           `db:"survey_id,fixed"`
	QuestionID string          `db:"question_id,fixed"`
	Value      json.RawMessage `db:"value,fixed,json"`
}

var answers = storage.Define[answerRow]("survey_answer").Limit(maxAnswers + 8<<10)

// responseOf is the row of a response that was accepted just now.
func responseOf(row *Instance, r Response, a *answerSet) *responseRow {
	return &responseRow{
		Record:   storage.Record{Scope: row.Scope, Key: row.PublicID},
		SurveyID: row.SurveyID, SurveyVersion: row.SurveyVersion, TriggerID: row.TriggerID, BusinessUnit: row.BusinessUnit,
		CustomerRef: row.CustomerRef, AgentID: r.AgentID, AnswersHash: a.hash, IdempotencyKey: r.keyHash(), Answers: a.json,
		CompletedOn: row.CompletedOn, SubmittedOn: row.EndedOn,
	}
}

// answersOf are the rows of its answers.
func answersOf(r *responseRow, a *answerSet) []*answerRow {
	rows := make([]*answerRow, len(a.order))
	for i, id := range a.order {
		value, _ := json.Marshal(a.values[id]) // it was written as JSON before
		rows[i] = &answerRow{
			Record:   storage.Record{Scope: r.Scope, Key: r.Key + "\x1f" + id},
			PublicID: r.Key, SurveyID: r.SurveyID, QuestionID: id, Value: value,
		}
	}
	return rows
}
