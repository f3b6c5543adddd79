package automationhttp_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/automationhttp"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/memory"
)

var by = report.By{Actor: "kim@host", Reason: "a test"}

// away is the hook of a store whose database is away.
func away(storetest.Call) error { return errors.New("the database is away") }

// memoryHost is a host in memory, for what no adapter has a part in.
func memoryHost(t *testing.T) (*host, *storetest.Spy) {
	t.Helper()
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	store := &storetest.Spy{Store: memory.New(&memory.Options{Clock: clk})}
	h := newHost(t, store, clk, false)
	h.subscribe("tenant", "weekly")
	return h, store
}

// Nobody sees or does what the host has not allowed, wherever it is asked for.
func TestNobodyGetsInWhomTheHostDoesNotKnow(t *testing.T) {
	t.Parallel()
	h, _ := memoryHost(t)
	const run = ofWeekly + "/scheduled:2026-03-01T09:00:00Z"
	reads := []string{all, all + "/failed", ofWeekly, run, run + "/delivery"}
	for as, want := range map[string][2]int{ // reading, running
		"": {401, 401}, "neither": {403, 403}, "read": {200, 403}, "run": {403, 201}, "nobody to ask": {403, 403},
		"no tenant": {403, 403}, "both": {200, 201}, "weekly only": {200, 403},
	} {
		for _, path := range reads {
			status := want[0]
			if as == "weekly only" && path[:len(all)] == all {
				status = 403
			}
			if a := h.ask(as, "GET", path, ""); a.Status != status || strings.Contains(a.Body, "secret") {
				t.Errorf("%q reads %s: %d %s", as, path, a.Status, a.Body)
			}
		}
		if a := h.ask(as, "POST", ofWeekly, `{"reason":"now"}`); a.Status != want[1] {
			t.Errorf("%q runs: %d %s", as, a.Status, a.Body)
		}
		if a := h.ask(as, "GET", "/", ""); as == "" && a.Status != 401 {
			t.Error("who nobody knows learns what there is", a.Status)
		}
	}
	if a := h.ask("both", "POST", ofWeekly, `{"reason":"now"}`, "Sec-Fetch-Site", "cross-site"); a.Status != http.StatusForbidden {
		t.Error("a page of another site ran a report", a.Status, a.Body)
	}
	if a := h.ask("both", "POST", ofWeekly, `{"reason":"now"}`, "Origin", "https://evil.example"); a.Status != http.StatusForbidden {
		t.Error("a page of another site ran a report", a.Status, a.Body)
	}
}

// The host decides about the subscription that the address names, so an address of
// one never leads to a run of another.
func TestAnAddressOfOneSubscriptionIsNoneOfAnother(t *testing.T) {
	t.Parallel()
	h, _ := memoryHost(t)
	_, made := h.runNow("both", `{"reason":"now","manualRunGuid":"x"}`)
	if made.Run != "manual:x" {
		t.Fatalf("%+v", made)
	}
	for _, path := range []string{
		"/report-subscriptions/weekly:manual/automation-runs/x", "/report-subscriptions/weekly:scheduled/automation-runs/2026-03-01T09:00:00Z", "/report-subscriptions/automation-runs/automation-runs/manual:x",
	} {
		for _, of := range []string{"", "/delivery", "/ownership"} {
			if a := h.ask("both", "GET", path+of, ""); a.Status != http.StatusNotFound {
				t.Error(path+of, a.Status, a.Body)
			}
		}
	}
}

// Addresses and methods that are none are refused as everything else is.
func TestAnAddressThatIsNone(t *testing.T) {
	t.Parallel()
	h, _ := memoryHost(t)
	for _, path := range []string{"/", "/report-subscriptions", "/report-subscriptions/weekly", ofWeekly + "/", all + "/failed/", all + "/unknown", ofWeekly + "/x/y"} {
		if a := h.ask("both", "GET", path, ""); a.Status != http.StatusNotFound || a.Header.Get("Content-Type") != "application/problem+json" {
			t.Error(path, a.Status, a.Body)
		}
	}
	for path, allow := range map[string]string{all: "GET", ofWeekly: "GET, POST", ofWeekly + "/manual:x/delivery": "GET"} {
		for _, method := range []string{"DELETE", "PUT", "PATCH"} {
			a := h.ask("both", method, path, "")
			if a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != allow || a.Header.Get("Content-Type") != "application/problem+json" {
				t.Error(method, path, a.Status, a.Header)
			}
		}
	}
}

// When the database is away the caller hears to try again, with the id, and the log
// says why.
func TestOurFailureIsLoggedAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	h, store := memoryHost(t)
	store.SetHook(away)
	const run, canary = ofWeekly + "/scheduled:2026-03-01T09:00:00Z", "a reason that is nobody's business"
	for _, path := range []string{all, all + "/failed", ofWeekly, run, run + "/delivery", run + "/ownership"} {
		if a := h.ask("both", "GET", path, ""); a.Body != `{"title":"try again","status":503}`+"\n" {
			t.Error(path, a.Body)
		}
	}
	var made struct{ ManualRunGUID string }
	a := h.ask("both", "POST", ofWeekly, `{"reason":"`+canary+`"}`)
	if err := json.Unmarshal([]byte(a.Body), &made); err != nil || a.Status != http.StatusServiceUnavailable || len(made.ManualRunGUID) != 36 {
		t.Error(a.Status, a.Body)
	}
	if text := h.logged(); !strings.Contains(text, "level=ERROR") || strings.Count(text, "\n") > 3 || strings.Contains(text, canary) {
		t.Error(text)
	}
	store.SetHook(nil)
	a, again := h.runNow("both", `{"reason":"again","manualRunGuid":"`+made.ManualRunGUID+`"}`)
	if diff := cmp.Diff(asked{made.ManualRunGUID, "manual:" + made.ManualRunGUID, "Created", "Pending"}, again); diff != "" || a.Status != http.StatusCreated {
		t.Error(a.Status, diff)
	}
}

func TestProgrammersErrorsPanic(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	out := notify.New(store, nil)
	s := report.New(store, automation.New(store, out, nil), out, nil)
	for name, f := range map[string]func(){
		"no service":    func() { automationhttp.ReportRuns(nil, letIn, nil) },
		"no authoriser": func() { automationhttp.ReportRuns(s, nil, &automationhttp.Options{Logger: slog.Default()}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
