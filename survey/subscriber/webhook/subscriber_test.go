package webhook_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/subscriber/webhook"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var now = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// receiver verifies as the standard says, remembers ids, and answers what its
// script says.
type receiver struct {
	url    string
	server *httptest.Server

	mu       sync.Mutex
	script   func(w http.ResponseWriter, r *http.Request)
	requests int
	bodies   map[string]string // by id
}

func receive(t *testing.T, script func(http.ResponseWriter, *http.Request)) *receiver {
	t.Helper()
	r := &receiver{script: script, bodies: map[string]string{}}
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(r.answer))
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.server.StartTLS()
	t.Cleanup(r.server.Close)
	r.url = r.server.URL + "/hooks/canary?token=canary"
	return r
}

func (r *receiver) answer(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if q.Method != http.MethodPost || q.Header.Get("Content-Type") != "application/json" || webhook.Verify(secret, q.Header, body, now) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.bodies[q.Header.Get("webhook-id")] = string(body)
	if r.script != nil {
		r.script(w, q)
	}
}

func (r *receiver) says(status int, header ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "canary")
	}
}

func (r *receiver) seen() (int, map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests, r.bodies
}

func open(t *testing.T, r *receiver, change func(*webhook.Options)) *webhook.Subscriber {
	t.Helper()
	o := webhook.Options{
		URL: r.url, Secrets: []string{secret}, Trusted: []string{"127.0.0.1"},
		Ports:     []int{r.server.Listener.Addr().(*net.TCPAddr).Port},
		TLSConfig: r.server.Client().Transport.(*http.Transport).TLSClientConfig,
	}
	if change != nil {
		change(&o)
	}
	s, err := webhook.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func event() survey.ResponseCompleted {
	return survey.ResponseCompleted{
		EventID: "survey-response-completed-8f3a", EventType: survey.EventResponseCompleted, SurveyID: 4523, InstancePublicID: "8f3a",
		RecipientAddress: "canary", Answers: json.RawMessage(`{"rate":3}`), CandidateMetadata: json.RawMessage(`{"wip":"1"}`),
		CompletedOn: now, DispatchedOn: now,
	}
}

// refused expects an error that tells nothing.
func refused(t *testing.T, s *webhook.Subscriber) error {
	t.Helper()
	err := s.Dispatch(t.Context(), event())
	if err == nil {
		t.Fatal("no error")
	}
	for _, secret := range []string{"canary", "127.0.0.1", "localhost", "hooks", "MfKQ"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error holds %s: %v", secret, err)
		}
	}
	return err
}

func TestAResponseIsPostedSignedAndTheSameEachTime(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	s := open(t, r, nil)
	for range 2 {
		if err := s.Dispatch(t.Context(), event()); err != nil {
			t.Fatal(err)
		}
	}
	requests, bodies := r.seen()
	want := map[string]string{"survey-response-completed-8f3a": `{"type":"survey.response-completed","timestamp":"2026-03-01T08:00:00Z","data":{` +
		`"eventId":"survey-response-completed-8f3a","eventType":"response-completed","surveyId":4523,"surveyVersion":0,"surveyIntegrationId":"",` +
		`"instancePublicId":"8f3a","triggerId":"","customerRef":"","recipientAddress":"canary","recipientLocale":"","completedAt":"2026-03-01T08:00:00Z",` +
		`"answers":{"rate":3},"candidateMetadataJson":{"wip":"1"}}}`}
	if diff := cmp.Diff(want, bodies); diff != "" || requests != 2 || s.Key() != "webhook:standard" {
		t.Error(requests, s.Key(), diff)
	}
}

func TestAnAnswerThatIsNoYesIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	s := open(t, r, nil)
	for _, status := range []int{301, 307, 400, 401, 404, 408, 409, 429, 500, 503} {
		r.says(status, "Location", "https://127.0.0.1/canary")
		if err := refused(t, s); permanent.Is(err) {
			t.Errorf("%d: %v", status, err)
		}
	}
	if requests, _ := r.seen(); requests != 10 {
		t.Errorf("%d requests for 10 calls", requests)
	}
	r.says(http.StatusNoContent)
	if err := s.Dispatch(t.Context(), event()); err != nil {
		t.Error(err)
	}
}

func TestAnAnswerThatIsLateOrBreaksOffIsTriedAgain(t *testing.T) {
	t.Parallel()
	silent := receive(t, func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	broken := receive(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for _, s := range []*webhook.Subscriber{
		open(t, silent, func(o *webhook.Options) { o.Timeout = 50 * time.Millisecond }),
		open(t, broken, nil),
		open(t, broken, func(o *webhook.Options) { o.URL = "https://canary.invalid/" }),
		open(t, broken, func(o *webhook.Options) { o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} }),
	} {
		if err := refused(t, s); permanent.Is(err) {
			t.Error(err)
		}
	}
}

// The receiver's wishes, with a service between: a pause that it asks for is kept,
// and after a 410 it is left alone until somebody enables it.
func TestAReceiverIsObeyed(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(now)
	store := memory.New(&memory.Options{Clock: clk})
	r := receive(t, nil)
	s := open(t, r, nil)
	out := notify.New(store, nil, channel.Func("memory:default",
		func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil }))
	h := &host{t: t, survey: survey.New(store, out, &survey.Options{SurveyURL: "https://host.example/s/{token}"})}
	h.survey.Subscribe(s)
	h.poller = belfry.NewPoller(store, nil, h.survey, out)
	h.publish()

	r.says(http.StatusServiceUnavailable, "Retry-After", "240")
	one := h.respond("1")
	h.want(one, "Pending 1", r, 1)
	clk.Add(4*time.Minute - time.Second)
	h.want(one, "Pending 1", r, 1)
	r.says(http.StatusOK)
	clk.Add(time.Second)
	h.want(one, "Dispatched 1", r, 2)

	r.says(http.StatusGone)
	two := h.respond("2")
	h.want(two, "DeadLetter 1", r, 3)
	r.says(http.StatusOK)
	three := h.respond("3")
	h.want(three, "DeadLetter 1", r, 3)
	if !s.Disabled() {
		t.Error("it is enabled after a 410")
	}
	s.Enable()
	n, err := h.survey.Support().ReplayDeadLetters(t.Context(), "", s.Key(), survey.By{Actor: "sam", Reason: "they are back"}, nil)
	if err != nil || n != 2 {
		t.Error(n, err)
	}
	h.want(three, "Dispatched 0", r, 5)
}

type host struct {
	t      *testing.T
	survey *survey.Service
	poller *belfry.Poller
}

func (h *host) publish() {
	h.t.Helper()
	_, err := h.survey.Publish(h.t.Context(), survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(`{
		"questions": [{"id": "rate", "type": "rating", "min": 1, "max": 10, "required": true}],
		"triggers": [{
			"id": "visit", "enabled": true, "eventKind": "visit", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
			"schedule": {"initialDelay": "30d", "reminders": []}, "channel": "memory:default"
		}]
	}`)})
	h.must(err)
}

// respond makes a response and gives its public id.
func (h *host) respond(wip string) string {
	h.t.Helper()
	report, err := h.survey.Ingest(h.t.Context(), survey.Batch{EventKind: "visit", Items: []survey.Item{{
		Payload: json.RawMessage(`{"wip":"` + wip + `"}`), Recipient: survey.Recipient{Address: "+964 770 000 0001"},
	}}})
	h.must(err)
	id := report.Items[0].Instances[0].PublicID
	_, err = h.survey.Complete(h.t.Context(), "", id, survey.Response{Answers: json.RawMessage(`{"rate":3}`)})
	h.must(err)
	return id
}

// want drains, and then expects the delivery of a response to be there and the
// receiver to have had so many requests.
func (h *host) want(publicID, delivery string, r *receiver, requests int) {
	h.t.Helper()
	h.must(h.poller.Drain(h.t.Context()))
	e, err := h.survey.Support().Event(h.t.Context(), "", publicID)
	h.must(err)
	d := e.Deliveries[0]
	if n, _ := r.seen(); d.Status+" "+string(rune('0'+d.Attempts)) != delivery || n != requests {
		h.t.Errorf("%s %d after %d requests, want %s after %d: %s", d.Status, d.Attempts, n, delivery, requests, d.LastError)
	}
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// A server on this machine stands for all that a URL must not reach.
func TestNoURLReachesThisMachineOrItsNetwork(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	for _, name := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1", "100.64.0.1", "[fd00:ec2::254]"} {
		s := open(t, r, func(o *webhook.Options) {
			o.URL, o.Trusted = strings.Replace(r.url, "127.0.0.1", name, 1), []string{"hooks.internal"}
		})
		if err := s.Dispatch(t.Context(), event()); !permanent.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if requests, _ := r.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

func TestARedirectReachesNothing(t *testing.T) {
	t.Parallel()
	target := receive(t, nil)
	for _, status := range []int{301, 302, 303, 307, 308} {
		r := receive(t, func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, target.url, status) })
		_ = refused(t, open(t, r, nil))
	}
	if requests, _ := target.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

// Not parallel, since the environment belongs to the process.
func TestAProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxy := receive(t, nil)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.server.URL)
	}
	_ = refused(t, open(t, proxy, func(o *webhook.Options) { o.URL = "https://canary.invalid/" }))
	if requests, _ := proxy.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

func TestSettingsThatCannotBeUsedAreAllListed(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]*webhook.Options{
		"a secret is required":  nil,
		"URL is not an address": {Secrets: []string{secret}, URL: "http://canary.example/"},
		"secret 2 is not":       {Secrets: []string{secret, "canary"}, URL: "https://canary.example/"},
		"Trusted holds":         {Secrets: []string{secret}, URL: "https://canary.example/", Trusted: []string{"https://x"}},
		"is negative":           {Secrets: []string{secret}, URL: "https://canary.example/", Timeout: -1},
	} {
		if _, err := webhook.New(o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
