package automationhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // the tests run on machines without zone data

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/automationhttp"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

const all, ofWeekly = "/report-subscriptions/automation-runs", "/report-subscriptions/weekly/automation-runs"

// host is a site whose support looks at reports.
type host struct {
	*testing.T
	clock   *clock.Mock
	work    *automation.Scheduler
	reports *report.Service
	poller  *belfry.Poller
	api     http.Handler

	mu   sync.Mutex // guards log
	log  bytes.Buffer
	sent int
}

// letIn lets in who knows the password, to one tenant.
func letIn(r *http.Request) (automationhttp.Caller, error) {
	c := automationhttp.Caller{Scope: "tenant", Actor: "sam@support"}
	switch r.Header.Get("Authorization") {
	case "both":
		c.Read, c.Run = true, true
	case "other actor":
		c.Read, c.Run, c.Actor = true, true, "kim@support"
	case "read":
		c.Read = true
	case "run":
		c.Run = true
	case "nobody to ask":
		c.Run, c.Actor = true, ""
	case "other tenant":
		c.Read, c.Run, c.Scope = true, true, "other"
	case "no tenant":
		c.Read, c.Run, c.Scope = true, true, "\x00any"
	case "weekly only":
		c.Read = r.PathValue("guid") == "weekly"
	case "neither":
	default:
		return c, errors.New("a secret of the host")
	}
	return c, nil
}

// eachHost runs test on a host on each adapter. Its clock begins on Sunday, 1 March
// 2026, 08:00 UTC.
func eachHost(t *testing.T, guarded bool, test func(*host)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) { test(newHost(t, store, clk, guarded)) })
}

func newHost(t *testing.T, store storage.Store, clk *clock.Mock, guarded bool) *host {
	h := &host{T: t, clock: clk}
	logger := slog.New(slog.NewTextHandler(h, nil))
	out := notify.New(store, &notify.Options{Logger: logger}, channel.Func("email:print", func(context.Context, channel.Message) (channel.Receipt, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sent++
		return channel.Receipt{}, nil
	}))
	h.work = automation.New(store, out, &automation.Options{Logger: slog.New(slog.DiscardHandler)})
	h.reports = report.New(store, h.work, out, nil)
	h.reports.Register(report.Type{Name: "sales", Builder: report.BuilderFunc(build), Template: notify.Template{Subject: "Sales"}, Guarded: guarded})
	h.poller = belfry.NewPoller(store, &belfry.Options{Logger: logger}, h.work, out)
	h.api = automationhttp.ReportRuns(h.reports, letIn, &automationhttp.Options{Logger: logger})
	return h
}

// build makes a CSV, unless the subscription is called broken.
func build(_ context.Context, run report.Run) (report.Report, error) {
	if run.Subscription.GUID == "broken" {
		return report.Report{}, automation.Permanent(errors.New("no such table"))
	}
	return report.Report{Summary: "1 line", Parts: []report.Part{{
		Name: "sales.csv", MediaType: "text/csv", Write: func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "a,b\n")
			return err
		},
	}}}, nil
}

// Write is the host's log.
func (h *host) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(p)
}

func (h *host) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

func (h *host) subscribe(scope automation.Scope, guid string) {
	h.Helper()
	_, err := h.reports.Create(h.Context(), report.Subscription{
		Scope: scope, GUID: guid, Type: "sales", Name: "Sales", Zone: "Europe/Dublin", Cadence: automation.Recurrence{Cron: "0 9 * * *"},
		Recipients: []notify.Recipient{
			{Ref: "kim", Channel: "email:print", Address: "kim@example.com"}, {Ref: "lee", Channel: "email:print", Address: "lee@example.com"},
		},
	})
	if err != nil {
		h.Fatal(err)
	}
}

// pollOn moves the clock to nine o'clock of a day of March, and does all that is
// due.
func (h *host) pollOn(day int) {
	h.Helper()
	h.clock.Set(time.Date(2026, time.March, day, 9, 0, 0, 0, time.UTC))
	if err := h.poller.Drain(h.Context()); err != nil {
		h.Fatal(err)
	}
}

// answer is all that a caller sees.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// ask is one request, whose answer is as the OpenAPI file says. Headers that are
// empty are left out.
func (h *host) ask(as, method, path, body string, header ...string) answer {
	h.Helper()
	r := httptest.NewRequestWithContext(h.Context(), method, path, strings.NewReader(body))
	if as != "" {
		r.Header.Set("Authorization", as)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.api.ServeHTTP(w, r)
	a := answer{w.Code, w.Header(), w.Body.String()}
	documented(h.T, r, a)
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
		if got := a.Header.Get(name); got != want {
			h.Errorf("%s %s: %s is %q", method, path, name, got)
		}
	}
	return a
}

// get is an answer of 200, read into v.
func (h *host) get(path string, v any) {
	h.Helper()
	a := h.ask("both", "GET", path, "")
	if err := json.Unmarshal([]byte(a.Body), v); a.Status != http.StatusOK || err != nil {
		h.Fatal(path, a.Status, a.Body, err)
	}
}
