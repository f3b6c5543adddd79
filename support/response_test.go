package support_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/survey"
)

// complain has a customer of a survey answer.
func (s *school) complain(id int64, person string, answers string) (publicID string) {
	s.Helper()
	definition := `{"title": "Visit", "unhappy": {"questionId": "rate", "op": "<=", "value": 2}, "queue": "candidate.desk", "questions": [{"id": "rate", "type": "rating", "label": "How was it?"}, {"id": "why", "type": "text", "label": "Why?"}],
		"triggers": [{"id": "t", "enabled": true, "eventKind": "visit-closed", "dedupRecipe": ["templateId", "recipient.address"], "schedule": {"initialDelay": "0d"}, "channel": "email:school"}]}`
	_, err := s.surveys.Publish(s.Context(), survey.Version{Scope: tenant, SurveyID: id, Name: fmt.Sprint("Visit ", id), Definition: json.RawMessage(definition)})
	s.must(err)
	got, err := s.surveys.Ingest(s.Context(), survey.Batch{Scope: tenant, EventKind: "visit-closed", Items: []survey.Item{{
		Payload: json.RawMessage(`{"desk": "north"}`), Recipient: survey.Recipient{Address: person + "@example.com", CustomerRef: person},
	}}})
	s.must(err)
	i := slices.IndexFunc(got.Items[0].Instances, func(i survey.InstanceReport) bool { return i.Outcome == survey.Created })
	publicID = got.Items[0].Instances[i].PublicID
	_, err = s.surveys.Complete(s.Context(), tenant, publicID, survey.Response{Answers: json.RawMessage(answers)})
	s.must(err)
	s.must(s.surveys.Unpublish(s.Context(), tenant, id))
	s.clk.Add(time.Minute)
	return publicID
}

// The unhappy responses of all surveys are a list: a person takes one, says what was done, and it
// leaves; the link's own page tells of it.
func TestUnhappyResponsesAreAList(t *testing.T) {
	schools(t, func(s *school) {
		first := s.complain(8, "ann", `{"rate": 1, "why": "It was late."}`)
		s.complain(8, "joe", `{"rate": 5}`)
		second := s.complain(9, "eve", `{"rate": 2}`)
		told := func(rows []support.Entry) (out []string) {
			for _, e := range rows {
				line := fmt.Sprintf("%s %s %s: %s %v", e.Kind, e.State(), e.Title(), e.Because(), e.Can)
				for _, step := range e.Steps {
					line += " " + step.What + " " + step.Actor
				}
				out = append(out, line)
			}
			return out
		}
		list := func(want ...string) {
			s.Helper()
			rows, next, err := s.desk.List(s.Context(), tenant, support.Unhappy, storage.Page{})
			if diff := cmp.Diff(want, told(rows)); diff != "" || err != nil || next != "" {
				s.Error(err, next, diff)
			}
		}
		act := func(action support.Action, key, want string) {
			s.Helper()
			for _, dry := range []bool{true, false} {
				got, err := s.desk.Act(s.Context(), tenant, support.Order{Action: action, Targets: []support.Target{{Kind: support.KindResponse, Key: key}}, By: by, DryRun: dry})
				if err != nil || got[0].Done != (want == "") || got[0].Refused != want {
					s.Errorf("%s, dry %v: %+v, %v", action, dry, got, err)
				}
			}
		}
		open := "Response Waiting Visit 8: Not assigned, score 0 of 100, queue north. [Take Handle]"
		list("Response Waiting Visit 9: Not assigned, score 25 of 100, queue north. [Take Handle]", open)
		act(support.Take, second, "")
		act(support.Take, second, "it is with you")
		list("Response Waiting Visit 9: Assigned, score 25 of 100, queue north. [Take Handle] Assign kim", open)
		mine, page, err := s.desk.Unhappy(s.Context(), tenant, survey.WorklistQuery{Assignee: "kim", Queue: "north", Since: s.clk.Now().Add(-time.Hour)})
		if err != nil || len(mine) != 1 || page.Total != 1 || len(page.Queues) != 1 || mine[0].Person != "eve" {
			s.Errorf("%+v, %+v, %v", mine, page, err)
		}
		act(support.Handle, second, "")
		act(support.Handle, second, "it was handled before")
		list(open)
		handled, _, err := s.desk.Unhappy(s.Context(), tenant, survey.WorklistQuery{State: survey.WorkHandled})
		if diff := cmp.Diff([]string{"Response Done Visit 9: Handled, score 25 of 100, queue north. [] Handle kim"}, told(handled)); diff != "" || err != nil || handled[0].Steps[0].Detail != by.Reason {
			s.Error(err, diff)
		}
		story := s.story(support.About{Key: first}, storage.Page{})
		if len(story.Past) != 2 || story.Past[1].Kind != support.KindResponse || story.Past[1].Subject != "It was late." || story.Past[1].Detail != "How was it?: 1\nWhy?: It was late.\ndesk: north" {
			s.Errorf("%+v", story.Past)
		}
		if got := s.story(support.About{Key: second}, storage.Page{}).Past; len(got) != 2 || !slices.Equal(whats(got[1].Steps), []string{"Assign", "Handle"}) {
			s.Errorf("%+v", got)
		}
		if rows, _, err := s.desk.List(s.Context(), "south", support.Unhappy, storage.Page{}); err != nil || len(rows) != 0 {
			s.Errorf("another tenant's: %v, %v", rows, err)
		}
	})
}
