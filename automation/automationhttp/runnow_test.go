package automationhttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type asked struct {
	ManualRunGUID, Run, Outcome, Status string
}

// runNow asks for a run of the subscription weekly.
func (h *host) runNow(as, body string, header ...string) (answer, asked) {
	h.Helper()
	a := h.ask(as, "POST", ofWeekly, body, header...)
	var got asked
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil {
		h.Fatal(a.Body, err)
	}
	return a, got
}

// I-1: however often a request is repeated, by the id or by the header, there is one
// run.
func TestI1_ARunThatIsAskedForTwiceRunsOnce(t *testing.T) {
	eachHost(t, false, func(h *host) {
		h.subscribe("tenant", "weekly")
		const why = `{"reason":"the board meets"}`
		first, made := h.runNow("both", why)
		if first.Status != http.StatusCreated || len(made.ManualRunGUID) != 36 || made.Run != "manual:"+made.ManualRunGUID || made.Status != "Pending" {
			h.Errorf("%d %+v", first.Status, made)
		}
		if want := "automation-runs/" + made.Run; first.Header.Get("Location") != want {
			h.Errorf("Location is %q", first.Header.Get("Location"))
		}
		again, same := h.runNow("both", `{"reason":"impatience","manualRunGuid":"`+made.ManualRunGUID+`"}`)
		if again.Status != http.StatusOK || same.Run != made.Run || same.Outcome != "Unchanged" {
			h.Errorf("%d %+v", again.Status, same)
		}
		_, byKey := h.runNow("both", why, "Idempotency-Key", "click 1")
		_, repeated := h.runNow("both", why, "Idempotency-Key", "click 1")
		if byKey.Outcome != "Created" || repeated.Outcome != "Unchanged" || repeated.Run != byKey.Run || len(byKey.ManualRunGUID) != 36 {
			h.Errorf("%+v %+v", byKey, repeated)
		}
		_, second := h.runNow("both", why, "Idempotency-Key", "click 2")
		_, others := h.runNow("other actor", why, "Idempotency-Key", "click 1")
		_, named := h.runNow("both", `{"reason":"both","manualRunGuid":"a/b ?"}`, "Idempotency-Key", "click 1")
		if second.Outcome != "Created" || others.Outcome != "Created" || named.Run != "manual:a/b ?" {
			h.Errorf("%+v %+v %+v", second, others, named)
		}
		h.pollOn(1)
		h.found(made.Run, named.Run)
		if h.sent != 2*6 { // five that were asked for, and that of nine o'clock, to two people each
			h.Error(h.sent)
		}
	})
}

// found follows the Location of runs, and looks for who asked.
func (h *host) found(run, oddRun string) {
	h.Helper()
	for path, want := range map[string]string{
		ofWeekly + "/" + run: run, "/report-subscriptions/weekly/automation-runs/manual:a%2Fb%20%3F": oddRun,
	} {
		var d struct {
			Run     struct{ Run, Status string }
			History []struct{ Action, Actor, Reason string }
		}
		h.get(path, &d)
		if d.Run.Run != want || d.Run.Status != "Completed" || d.History[0].Actor != "sam@support" || d.History[0].Action != "Created" {
			h.Errorf("%+v", d)
		}
	}
}

// What cannot be run is refused, and the id is in the answer.
func TestARunThatCannotBeAskedFor(t *testing.T) {
	eachHost(t, false, func(h *host) {
		h.subscribe("tenant", "weekly")
		if err := h.reports.Deactivate(h.Context(), "tenant", "weekly", by); err != nil {
			h.Fatal(err)
		}
		const body = `{"reason":"now","manualRunGuid":"mine"}`
		for path, want := range map[string]string{
			ofWeekly: `{"title":"the subscription is deactivated, or the old scheduler has its runs","status":409,"manualRunGuid":"mine"}`,
			"/report-subscriptions/none/automation-runs":   `{"title":"this subscription or run does not exist","status":404,"manualRunGuid":"mine"}`,
			"/report-subscriptions/a:b/automation-runs":    `{"title":"this subscription or run does not exist","status":404,"manualRunGuid":"mine"}`,
			"/report-subscriptions/%00%FF/automation-runs": `{"title":"this subscription or run does not exist","status":404,"manualRunGuid":"mine"}`,
		} {
			if a := h.ask("both", "POST", path, body); a.Body != want+"\n" {
				h.Error(path, a.Body)
			}
		}
		if a := h.ask("other tenant", "POST", ofWeekly, body); a.Status != http.StatusNotFound {
			h.Error("I-28: another tenant's subscription", a.Body)
		}
		if text := h.logged(); text != "" {
			h.Error("what a caller gets wrong is logged:", text)
		}
	})
}

// A run of a report that the old scheduler still has is not one that was made.
func TestARunInShadowIsRefused(t *testing.T) {
	eachHost(t, true, func(h *host) {
		h.subscribe("tenant", "weekly")
		const want = `{"title":"the subscription is deactivated, or the old scheduler has its runs","status":409,"manualRunGuid":"mine"}`
		for range 2 {
			if a := h.ask("both", "POST", ofWeekly, `{"reason":"now","manualRunGuid":"mine"}`); a.Status != http.StatusConflict || a.Body != want+"\n" {
				h.Error(a.Status, a.Body)
			}
		}
		if a := h.ask("both", "GET", ofWeekly+"/manual:mine", ""); a.Status != http.StatusNotFound {
			h.Error("a run that never runs was written:", a.Body)
		}
	})
}

// A body that is not one is refused with what is wrong, and nothing is written.
func TestABodyHasToBeOne(t *testing.T) {
	eachHost(t, false, func(h *host) {
		h.subscribe("tenant", "weekly")
		for body, want := range map[string]string{
			`{}`:                             `400 [{"path":"reason","problem":"is missing"}]`,
			`[]`:                             `400 [{"path":"","problem":"is a list, not an object"}]`,
			`{"reason":"x","scope":"other"}`: `400 [{"path":"scope","problem":"is unknown"}]`,
			`{"Reason":"x"}`:                 `400 [{"path":"Reason","problem":"is unknown; it is spelled reason"},{"path":"reason","problem":"is missing"}]`,
			`{"reason":7}`:                   `400 [{"path":"reason","problem":"is the number 7, not a text"}]`,
			`{"reason":""}`:                  `422 "reason must be a text of 1 to 1000 bytes without control characters"`,
			`{"reason":"a\u0000b"}`:          `422 "reason must be a text of 1 to 1000 bytes without control characters"`,
			`{"reason":"` + strings.Repeat("x", 1001) + `"}`:  `422 "reason must be a text of 1 to 1000 bytes without control characters"`,
			`{"reason":"x","manualRunGuid":"a:b"}`:            `422 "manualRunGuid holds ':' at byte 1"`,
			`{"reason":"x"} {}`:                               `400 [{"path":"","problem":"is not JSON: invalid character '{' after top-level value (line 1, column 16)"}]`,
			`{"reason":"` + strings.Repeat("x", 8<<10) + `"}`: `413 "the body is too large"`,
			`{"reason":"x","manualRunGuid":null}`:             `400 [{"path":"manualRunGuid","problem":"is null; leave it out instead"}]`,
		} {
			h.refused(want, body)
		}
		const good = `{"reason":"x"}`
		h.refused(`415 "the body must not be compressed"`, good, "Content-Encoding", "gzip")
		h.refused(`422 "Idempotency-Key must be a text of 1 to 200 characters"`, good, "Idempotency-Key", "")
		h.refused(`422 "Idempotency-Key must be a text of 1 to 200 characters"`, good, "Idempotency-Key", "é")
		h.refused(`422 "Idempotency-Key must be a text of 1 to 200 characters"`, good, "Idempotency-Key", strings.Repeat("x", 201))
		h.refused(`422 "Idempotency-Key must be a text of 1 to 200 characters"`, good, "Idempotency-Key", "a", "Idempotency-Key", "a")
		if a := h.ask("both", "POST", ofWeekly, ""); a.Status != http.StatusUnsupportedMediaType {
			h.Error(a.Status, a.Body)
		}
		if diff := cmp.Diff([][]string{{"weekly scheduled:2026-03-01T09:00:00Z Pending"}}, h.pages(ofWeekly)); diff != "" {
			h.Error(diff)
		}
	})
}

// refused expects the status, and what is wrong with the body, or else the title.
func (h *host) refused(want, body string, header ...string) {
	h.Helper()
	a := h.ask("both", "POST", ofWeekly, body, header...)
	var p struct {
		Title  string
		Errors json.RawMessage
	}
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil {
		h.Error(err)
	}
	got := fmt.Sprintf("%d %s", a.Status, p.Errors)
	if p.Errors == nil {
		got = fmt.Sprintf("%d %q", a.Status, p.Title)
	}
	if got != want {
		h.Errorf("%.60s %q: %s, want %s", body, header, got, want)
	}
}
