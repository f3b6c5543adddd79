package survey_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// csiGR is the document's survey: General Repair, one reminder after a day.
//
//go:embed form/testdata/csi-gr.json
var csiGR string

// visit is the document's event.
const visit = `{"wip":"40956","dealerId":"1","jobType":"GR","VIN":"JTMABBBJ2N4024400","CustomerName":"planted-name"}`

const oneDay = 24 * time.Hour

// host is a program that embeds the library, on one store with a mock clock.
type host struct {
	t      *testing.T
	store  storage.Store
	clock  *clock.Mock
	survey *survey.Service
	out    *notify.Notifier
	sends  notify.Options // of out
	poller *belfry.Poller

	mu    sync.Mutex
	calls []channel.Message // of memory:default
	fail  error             // what memory:default answers
}

// start is 2026-05-14 05:12:34, the moment of the document's event.
var start = time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC)

// eachHost runs test on a host on each adapter.
func eachHost(t *testing.T, opts *survey.Options, test func(*host)) {
	storetest.Each(t, func(t *testing.T, store storage.Store, mock *clock.Mock) {
		mock.Set(start)
		h := &host{t: t, clock: mock, store: store}
		h.survey = h.service(opts)
		h.poller = newPoller(h)
		test(h)
	})
}

// onMemoryHost runs test on a host on memory alone.
func onMemoryHost(t *testing.T, opts *survey.Options, test func(*host)) {
	mock := clock.NewMock()
	mock.Set(start)
	h := &host{t: t, clock: mock, store: memory.New(&memory.Options{Clock: mock})}
	h.survey = h.service(opts)
	h.poller = newPoller(h)
	test(h)
}

// service is another process's service on the same store.
func (h *host) service(opts *survey.Options) *survey.Service {
	var o survey.Options
	if opts != nil {
		o = *opts
	}
	if o.SurveyURL == "" {
		o.SurveyURL = "https://host.example/s/{token}?i={publicId}"
	}
	h.out = h.sender(h.memory())
	return survey.New(h.store, h.out, &o)
}

// sender is what a process sends by.
func (h *host) sender(channels ...channel.Channel) *notify.Notifier {
	o := h.sends
	if o.Logger == nil {
		o.Logger = quiet()
	}
	return notify.New(h.store, &o, channels...)
}

func (h *host) send(_ context.Context, m channel.Message) (channel.Receipt, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, m)
	if h.fail != nil {
		return channel.Receipt{}, h.fail
	}
	return channel.Receipt{ID: "mem-" + m.ID}, nil
}

// publish publishes a definition as survey 4523.
func (h *host) publish(definition string) survey.Published {
	h.t.Helper()
	got, err := h.survey.Publish(h.t.Context(), survey.Version{
		SurveyID: 4523, Name: "E2E CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(definition),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

// ingest tells of the document's event, or of the payloads given.
func (h *host) ingest(payloads ...string) survey.IngestReport {
	h.t.Helper()
	if len(payloads) == 0 {
		payloads = []string{visit}
	}
	b := survey.Batch{EventKind: "service-visit-closed"}
	for _, p := range payloads {
		b.Items = append(b.Items, survey.Item{
			Payload:   json.RawMessage(p),
			Recipient: survey.Recipient{Address: "+964 770 000 0001", Locale: "ar", CustomerRef: "cust-123"},
		})
	}
	got, err := h.survey.Ingest(h.t.Context(), b)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

// drain polls until nothing is due.
func (h *host) drain() {
	h.t.Helper()
	if err := h.poller.Drain(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// sent are the calls of the channel so far.
func (h *host) sent() []channel.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]channel.Message(nil), h.calls...)
}

const day = 24 * time.Hour

// definition is a survey with one trigger, which has that schedule and whatever
// more is given, as members of its JSON.
func definition(initialDelay string, reminders []string, more ...string) string {
	quoted := make([]string, len(reminders))
	for i, r := range reminders {
		quoted[i] = fmt.Sprintf("%q", r)
	}
	extra := ""
	for _, m := range more {
		extra += ", " + m
	}
	return fmt.Sprintf(`{
		"title": {"en": "Your visit"},
		"questions": [{"id": "rate", "type": "rating", "min": 1, "max": 10, "required": true}],
		"triggers": [{
			"id": "visit", "enabled": true, "eventKind": "service-visit-closed",
			"dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
			"schedule": {"initialDelay": %q, "reminders": [%s]},
			"channel": "memory:default"%s
		}]
	}`, initialDelay, strings.Join(quoted, ", "), extra)
}

// inMemory runs test on a host in memory only, where the store has no part in what
// is shown.
func inMemory(t *testing.T, opts *survey.Options, test func(*host)) {
	t.Parallel()
	mock := clock.NewMock()
	mock.Set(start)
	h := &host{t: t, clock: mock, store: memory.New(&memory.Options{Clock: mock})}
	h.survey = h.service(opts)
	h.poller = newPoller(h)
	test(h)
}

// linked publishes a definition, tells of the document's event, and returns the
// link's public id.
func (h *host) linked(definition string) string {
	h.t.Helper()
	h.publish(definition)
	got := h.ingest()
	if len(got.Items) != 1 || len(got.Items[0].Instances) != 1 || got.Items[0].Instances[0].Outcome != survey.Created {
		h.t.Fatalf("ingest: %+v", got)
	}
	return got.Items[0].Instances[0].PublicID
}

// explain is the story of a link.
func (h *host) explain(id string) survey.Explanation {
	h.t.Helper()
	e, err := h.survey.Support().Explain(h.t.Context(), "", id)
	if err != nil {
		h.t.Fatal(err)
	}
	return e
}

// status fails unless the link has that status, and returns its row.
func (h *host) status(id, want string) survey.Instance {
	h.t.Helper()
	e := h.explain(id)
	if e.Instance.Status != want {
		h.t.Fatalf("the link is %s, want %s:\n%s", e.Instance.Status, want, e)
	}
	return e.Instance
}

// log is what came of the sends so far, in a line each.
func (h *host) log(id string) []string {
	h.t.Helper()
	var out []string
	for _, d := range h.explain(id).Deliveries {
		line := fmt.Sprintf("%d/%d %s", d.Ordinal, d.Attempt, d.Status)
		if d.ReasonCode != "" {
			line += " " + d.ReasonCode
		}
		out = append(out, line)
	}
	return out
}

// fails sets what memory:default answers.
func (h *host) fails(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail = err
}

// use has the host be a process with these options and channels.
func (h *host) use(opts survey.Options, channels ...channel.Channel) {
	if opts.SurveyURL == "" {
		opts.SurveyURL = "https://host.example/s/{token}?i={publicId}"
	}
	h.out = h.sender(channels...)
	h.survey = survey.New(h.store, h.out, &opts)
	h.poller = newPoller(h)
}

// memory is the host's usual channel.
func (h *host) memory() channel.Channel { return channel.Func("memory:default", h.send) }

// channel is memory:default with another manner of sending.
func through(send func(context.Context, channel.Message) (channel.Receipt, error)) channel.Channel {
	return channel.Func("memory:default", send)
}

// at moves the clock to so long after the event, and drains.
func (h *host) at(after time.Duration) {
	h.t.Helper()
	h.clock.Set(start.Add(after))
	h.drain()
}

// tokenOf is that of a link.
func tokenOf(url string) string {
	_, rest, _ := strings.Cut(url, "/s/")
	token, _, _ := strings.Cut(rest, "?")
	return token
}

// linkIn is the link of a message.
func linkIn(m channel.Message) string { return m.Metadata["surveyUrl"] }

var someone = survey.By{Actor: "ann", Reason: "the customer asked"}

func TestMain(m *testing.M) { pgtest.Main(m) }
