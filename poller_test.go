package belfry_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/survey"
)

func TestAReminderArrivesOnceAndASecondRunSendsNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		h := newHost(t, store, reminder("visit"))
		h.ensure(today("visit", 25)...)
		h.drain()
		h.ensure(today("visit", 25)...) // saying it again changes nothing
		h.drain()
		newHost(t, store, reminder("visit")).drain() // nor does another process
		if sent, people := h.mails(); sent != 25 || people != 25 {
			t.Errorf("%d mails to %d people", sent, people)
		}
	})
}

func (h *host) poll(n int) belfry.Report {
	h.t.Helper()
	rep, err := h.poller.PollOnce(h.t.Context(), n)
	if err != nil {
		h.t.Fatal(err)
	}
	return rep
}

// A pass makes the same statements for 500 rows as for 5, none of them row by row, and three
// short transactions before each group of concurrent provider calls: who is suppressed, who
// has opted out, and that the calls start. Results are saved as they come, so that the number
// of transactions is not fixed. Not parallel: what a table's last Ensure found (its first
// statement next time) is the process's.
func TestAPassTakesNoStatementRowByRow(t *testing.T) {
	const rows, most = 500, 100
	fewCalls, few := statementsOf(t, 5)
	manyCalls, many := statementsOf(t, rows)
	if len(few) > 80 {
		t.Errorf("%d statements:\n%s", len(few), strings.Join(few, "\n"))
	}
	if diff := cmp.Diff(slices.Compact(few), slices.Compact(slices.Clone(many))); diff != "" {
		t.Errorf("the statements of 5 and of %d rows differ:\n%s", rows, diff)
	}
	if one := (groupStatements{1, 1, 1}); fewCalls != one {
		t.Errorf("statements before calls: %+v", fewCalls)
	}
	times := map[string]int{"suppressed": manyCalls.Suppressed, "opted out": manyCalls.OptedOut, "call started": manyCalls.CallStarted}
	for _, text := range many {
		times[text]++
	}
	for text, n := range times {
		if n > most {
			t.Errorf("for %d rows %d times: %s", rows, n, text)
		}
	}
}

// tableOfRows is how rows are passed, of which many are described more closely.
var tableOfRows = regexp.MustCompile(`(FROM|USING) \(SELECT .* AS c\b`)

// groupStatements are those before the calls of groups.
type groupStatements struct{ Suppressed, OptedOut, CallStarted int }

// statementsOf counts what one whole delivery of n rows takes: the statements before
// calls, and all others.
func statementsOf(t *testing.T, n int) (calls groupStatements, others []string) {
	t.Helper()
	testlevel.Need(t, testlevel.Check)
	connector, err := pq.NewConnector(pgtest.With(t, pgtest.DSN(t), "binary_parameters", "yes"))
	if err != nil {
		t.Fatal(err)
	}
	db, counter := storetest.CountStatements(connector)
	t.Cleanup(func() { _ = db.Close() })
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	store, err := postgres.New(t.Context(), db, &postgres.Options{Clock: clk, Migrate: postgres.MigrateAuto})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	h := newHost(t, store, reminder("visit"))
	h.ensure(today("other", 1)...)
	h.deliver(today("visit", 600)[599:]...) // from now on the poller knows which lanes are empty
	counter.Take()
	h.deliver(today("visit", n)...)
	for _, s := range counter.Take() {
		if !strings.HasPrefix(s, "BEGIN") && s != "COMMIT" && s != "ROLLBACK" { // the last ends a look
			others = append(others, tableOfRows.ReplaceAllString(s, "FROM c"))
		}
	}
	calls.CallStarted = -1 // the settling write has the same text
	others = slices.DeleteFunc(others, func(s string) bool {
		switch {
		case strings.HasPrefix(s, `UPDATE "outgoing_message" AS t SET "version"`):
			calls.CallStarted++
		case strings.Contains(s, ` FROM "suppression" WHERE `):
			calls.Suppressed++
		case strings.Contains(s, ` FROM "recipient_preference" WHERE `):
			calls.OptedOut++
		default:
			return false
		}
		return true
	})
	slices.Sort(others)
	return calls, others
}

// deliver ensures candidates and polls until they are sent.
func (h *host) deliver(candidates ...automation.Candidate) {
	h.t.Helper()
	before, _ := h.mails()
	h.ensure(candidates...)
	for range 5 { // one poll for each pass, and one to find nothing
		h.poll(600)
	}
	if sent, _ := h.mails(); sent != before+len(candidates) {
		h.t.Fatalf("%d of %d sent", sent-before, len(candidates))
	}
}

func TestNewPollerRefusesWhatOnlyAProgrammerCanGetWrong(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(){
		"store":   func() { belfry.NewPoller(nil, nil) },
		"service": func() { belfry.NewPoller(memory.New(nil), nil, nil) },
	} {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), name) {
					t.Errorf("%s: %v", name, v)
				}
			}()
			f()
		}()
	}
}

// decorated is a store as hosts wrap it, for measuring say: what they do not write
// themselves is the inner one's. It is not comparable.
type decorated struct {
	storage.Store
	labels map[string]string
}

// It is the same store, although its transactions say that they are the inner one's.
func TestADecoratedStoreWorks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, inner storage.Store, _ *clock.Mock) {
		h := newHost(t, decorated{inner, map[string]string{"of": "the host"}}, reminder("visit"))
		h.ensure(today("visit", 5)...)
		h.drain()
		if sent, people := h.mails(); sent != 5 || people != 5 {
			t.Errorf("%d mails to %d people", sent, people)
		}
	})
}

// Services that do not work together send nothing, so a poller does not begin with them.
func TestAPollerRefusesServicesThatDoNotWorkTogether(t *testing.T) {
	t.Parallel()
	store, other := memory.New(nil), memory.New(nil)
	out := notify.New(store, nil)
	types := 0
	with := func(out notify.DeliveryDispatcher, opts *automation.Options) *automation.Scheduler {
		s := automation.New(store, out, opts)
		types++
		s.Register(reminder(fmt.Sprint("visit", types)))
		return s
	}
	reminders := with(out, nil)
	own := automation.New(store, out, nil)
	own.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(context.Context, []automation.Due) ([]automation.Outcome, error) { return nil, nil })})
	const none, elsewhere = "hands its work to a notify.Notifier that is not among the services", "is on another store"
	for name, c := range map[string]struct {
		services []belfry.Service
		want     string
	}{
		"nothing":                             {nil, "no service is given"},
		"reminders alone":                     {[]belfry.Service{reminders}, none},
		"reminders, and another notifier":     {[]belfry.Service{reminders, notify.New(store, nil)}, none},
		"reminders, and a notifier elsewhere": {[]belfry.Service{with(notify.New(other, nil), nil), out}, none},
		"a notifier elsewhere":                {[]belfry.Service{out, notify.New(other, nil)}, "notify.Notifier " + elsewhere},
		"surveys elsewhere":                   {[]belfry.Service{reminders, out, survey.New(other, nil, nil)}, "survey.Service " + elsewhere},
		"reminders elsewhere":                 {[]belfry.Service{automation.New(other, out, nil), out}, "automation.Scheduler " + elsewhere},
		"settings elsewhere":                  {[]belfry.Service{with(out, &automation.Options{Settings: settings.New(other, nil)}), out}, "settings.Settings " + elsewhere},
		"all on one":                          {[]belfry.Service{out, survey.New(store, nil, nil), reminders}, ""},
		"decorated":                           {[]belfry.Service{reminders, hanging{out}}, ""},
		"work of the host's own":              {[]belfry.Service{own}, ""},
		"a dispatcher of the host's own":      {[]belfry.Service{with(struct{ notify.DeliveryDispatcher }{out}, nil)}, ""},
		"messages alone":                      {[]belfry.Service{out}, ""},
		"surveys that another notifier sends": {[]belfry.Service{survey.New(store, notify.New(store, nil), nil), out}, "survey.Service " + none},
		"surveys alone":                       {[]belfry.Service{survey.New(store, nil, nil)}, ""},
	} {
		p := belfry.NewPoller(store, nil, c.services...)
		_, polled := p.PollOnce(t.Context(), 10)
		said := map[string]error{"PollOnce": polled, "Drain": p.Drain(t.Context())}
		if c.want != "" {
			over, cancel := context.WithCancel(t.Context())
			cancel() // if it begins
			said["Run"] = p.Run(over)
		}
		for method, err := range said {
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %s: %v", name, method, err)
			}
		}
	}
}

// What is registered later counts, too.
func TestAPollerLooksAtWhatIsRegisteredWhenItBegins(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	reminders := automation.New(store, notify.New(store, nil), nil)
	p := belfry.NewPoller(store, nil, reminders)
	if err := p.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	reminders.Register(reminder("visit"))
	if err := p.Drain(t.Context()); err == nil {
		t.Error("nobody delivers its reminders, and it says nothing")
	}
}
