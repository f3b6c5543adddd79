package survey_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/survey"
)

const secret = `{"anonymous": true, "questions": [{"id": "q", "type": "text"}, {"id": "stars", "type": "rating"}],
	"triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d", "reminders": ["1d"]}, "channel": "memory:default",
		"subscribers": [{"key": "listener", "filter": {"questionId": "stars", "op": ">", "value": 2}}]}]}`

// An anonymous response is taken once, counts, is exported and goes to the subscribers; its link
// says only that it was answered, and on which day.
func TestAnAnonymousResponseKnowsNothingOfItsLink(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		listener := listen(h.survey, "listener")
		h.drain()
		h.publish(secret)
		var links []string
		for n := range survey.MinResponses {
			links = append(links, h.visited(fmt.Sprint(n)))
		}
		h.drain()
		token := tokenOf(h.link(links[0]))
		h.done(h.survey.Opened(h.t.Context(), token))
		answers := survey.Response{Answers: json.RawMessage(`{"q": "PLANTED", "stars": 4}`), AgentID: "agent", Locale: "vi", IdempotencyKey: "key", CompletedOn: start}
		receipt, err := h.survey.Submit(h.t.Context(), token, answers)
		if err != nil || receipt.PublicID != links[0] || !receipt.CompletedOn.Equal(start.Truncate(24*time.Hour)) {
			h.t.Fatal(receipt, err)
		}
		if again, err := h.survey.Submit(h.t.Context(), token, answers); err != nil || !again.Repeated || again.PublicID != links[0] || !again.CompletedOn.Equal(receipt.CompletedOn) {
			h.t.Errorf("a repeat: %+v, %v", again, err)
		}
		for _, key := range []string{"", "another key"} {
			answers.IdempotencyKey = key
			if _, err := h.survey.Submit(h.t.Context(), token, answers); !errors.Is(err, survey.ErrAnswered) {
				h.t.Errorf("a response under %q: %v", key, err)
			}
		}
		for _, id := range links[1:] {
			h.says(id, `{"stars": 2}`)
		}
		h.at(time.Hour)
		link := h.status(links[0], survey.StatusCompleted)
		for _, on := range []time.Time{link.OpenedOn, link.CompletedOn, link.EndedOn} {
			if !on.Equal(start.Truncate(24 * time.Hour)) {
				h.t.Errorf("the link tells the time of day: %+v", link)
			}
		}
		if _, err := h.survey.Responses().Get(h.t.Context(), "", links[0]); !errors.Is(err, storage.ErrNotFound) {
			h.t.Errorf("the response is found by its link: %v", err)
		}
		list, _, err := h.survey.Responses().List(h.t.Context(), "", survey.ResponseQuery{SurveyID: 4523})
		if err != nil || len(list) != survey.MinResponses {
			h.t.Fatal(list, err)
		}
		for _, r := range list {
			day := start.Truncate(24 * time.Hour)
			if slices.Contains(links, r.PublicID) || r.CustomerRef+r.AgentID+r.Locale+r.TriggerID+r.BusinessUnit != "" || !r.SubmittedOn.Equal(day) || !r.CompletedOn.Equal(day) {
				h.t.Errorf("it knows of its link: %+v", r)
			}
		}
		if e := listener.last; len(listener.hear()) != 1 || slices.Contains(links, e.InstancePublicID) || e.CustomerRef+e.RecipientAddress+e.RecipientLocale+e.TriggerID+e.AgentID != "" ||
			string(e.CandidateMetadata) != "{}" || !strings.Contains(string(e.Answers), "PLANTED") {
			h.t.Errorf("%+v", e)
		}
		result, err := h.survey.Results().Get(h.t.Context(), "", survey.ResultQuery{SurveyID: 4523})
		if g := result.Groups; err != nil || len(g) != 1 || g[0].Asked != survey.MinResponses || g[0].Answered != survey.MinResponses || g[0].Responses != survey.MinResponses || g[0].Wait != 0 {
			h.t.Errorf("%+v %v", g, err)
		}
		if missed, err := h.survey.Support().ReplayMissed(h.t.Context(), "", "listener", survey.ResponseQuery{SurveyID: 4523}, someone, nil); err != nil || missed != 0 {
			h.t.Errorf("%d are replayed that no trigger routes: %v", missed, err)
		}
	})
}

// secretHost has published secret, on a database whose rows can be read.
func secretHost(t *testing.T) (h *host, rows func() []string) {
	t.Helper()
	clk := clock.NewMock()
	clk.Set(start)
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), &sqlite.Options{Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	h = &host{t: t, clock: clk, store: store}
	h.survey = h.service(nil)
	listen(h.survey, "listener")
	h.poller = newPoller(h)
	h.publish(secret)
	return h, func() []string { return rowsOf(t, store.DB()) }
}

// No stored row has something of the link and something of the response, before or after a poll.
func TestNoRowJoinsAnAnonymousResponseWithItsLink(t *testing.T) {
	t.Parallel()
	h, rows := secretHost(t)
	link := h.visited("PERSON")
	h.drain()
	look := func(when string) {
		t.Helper()
		list, _, err := h.survey.Responses().List(t.Context(), "", survey.ResponseQuery{SurveyID: 4523})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		found := map[string]bool{}
		for _, row := range rows() {
			of := func(parts ...string) (has bool) {
				for _, part := range parts {
					if strings.Contains(row, part) {
						has, found[part] = true, true
					}
				}
				return has
			}
			if of(link, "PERSON", "+964 770 000 0001") && of(list[0].PublicID, "PLANTED") {
				t.Errorf("%s: %s", when, row)
			}
			if at := timeOfDay(row); of(list[0].PublicID) && at != "" && (when == "counted" || at != start.Format(time.RFC3339)) { // until its subscribers have it, it is due
				t.Errorf("%s: the time of day %s: %s", when, at, row)
			}
		}
		if len(found) < 4 {
			t.Errorf("%s: the rows have only %v", when, found)
		}
	}
	h.says(link, `{"q": "PLANTED", "stars": 4}`)
	look("answered")
	h.at(time.Hour)
	look("counted")
}

// A response that comes before the first send is noted with nothing of its link: rows that are
// noted together stand beside each other.
func TestAnAnonymousResponseBeforeTheFirstSendNotesNoLink(t *testing.T) {
	t.Parallel()
	h, rows := secretHost(t)
	link := h.visited("PERSON")
	h.says(link, `{"q": "PLANTED", "stars": 4}`)
	noted := 0
	for _, row := range rows() {
		if strings.HasPrefix(row, "survey_result_entry") {
			noted++
			if strings.Contains(row, link) {
				t.Errorf("beside the response: %s", row)
			}
		}
	}
	if noted == 0 {
		t.Error("nothing is noted")
	}
	h.drain()
	result, err := h.survey.Results().Get(t.Context(), "", survey.ResultQuery{SurveyID: 4523})
	if g := result.Groups; err != nil || len(g) != 1 || g[0].Asked != 1 || g[0].Answered != 1 {
		t.Errorf("%+v %v", g, err)
	}
}

// timeOfDay is a moment in a row that is not the beginning of a day; empty: there is none.
func timeOfDay(row string) string {
	for _, at := range regexp.MustCompile(`2026-05-[0-9]{2}T[0-9:.]+Z`).FindAllString(row, -1) {
		if !strings.HasSuffix(at, "T00:00:00Z") {
			return at
		}
	}
	return ""
}

// rowsOf are all rows of a database, each as a text.
func rowsOf(t *testing.T, db *sql.DB) (out []string) {
	t.Helper()
	each := func(query string, take func(values []any)) {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, to := make([]any, len(columns)), make([]any, len(columns))
			for i := range to {
				to[i] = &values[i]
			}
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
			take(values)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	var tables []string
	each("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'", func(v []any) { tables = append(tables, fmt.Sprint(v[0])) })
	for _, table := range tables {
		each("SELECT * FROM "+table, func(values []any) {
			text := table
			for _, v := range values {
				switch of := v.(type) {
				case []byte:
					v = string(of)
				case int64:
					if of > 1e15 {
						v = time.UnixMicro(of).UTC().Format(time.RFC3339Nano)
					}
				}
				text += fmt.Sprintf(" | %v", v)
			}
			out = append(out, text)
		})
	}
	return out
}
