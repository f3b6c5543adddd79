package notify_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/postmark"
	"github.com/belfry-go/belfry/notify/channel/resend"
	"github.com/belfry-go/belfry/storage/memory"
)

// mailers are Postmark and Resend as they are documented, on bad days: they refuse, are
// busy, fail and cut off, before or after they have accepted.
type mailers struct {
	clk *clock.Mock

	mu     sync.Mutex
	random *rand.Rand
	bad    map[string]int // what ails a provider for a while: a status, or none
	taken  map[string]int // by message, whoever took it
	by     map[string]int // by provider
	keys   map[string]bool
	faults int
}

func (p *mailers) postmark(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", p.clk.Now().UTC().Format(http.TimeFormat))
	if r.Method == http.MethodGet {
		p.search(w, r.FormValue("metadata_belfry_message"))
		return
	}
	var mail struct{ Metadata map[string]string }
	if err := json.NewDecoder(r.Body).Decode(&mail); err != nil {
		panic(err)
	}
	p.answer(w, "postmark", mail.Metadata["belfry_message"], false, `{"ErrorCode":0,"MessageID":"p"}`)
}

// search finds what Postmark itself has accepted.
func (p *mailers) search(w http.ResponseWriter, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.keys["postmark "+id] {
		_, _ = fmt.Fprint(w, `{"TotalCount":0,"Messages":[]}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"TotalCount":1,"Messages":[{"MessageID":"p","Metadata":{"belfry_message":%q}}]}`, id)
}

// resend filters repeats by their key.
func (p *mailers) resend(w http.ResponseWriter, r *http.Request) {
	p.answer(w, "resend", r.Header.Get("Idempotency-Key"), true, `{"id":"r"}`)
}

func (p *mailers) answer(w http.ResponseWriter, provider, id string, filters bool, accepted string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.random.IntN(200) == 0 { // a bad time begins, or ends
		p.bad[provider] = []int{0, http.StatusUnauthorized, http.StatusServiceUnavailable, http.StatusTooManyRequests}[p.random.IntN(4)]
	}
	dice := p.random.IntN(100)
	if p.bad[provider] != 0 && dice >= 10 {
		p.faults++
		w.WriteHeader(p.bad[provider])
		return
	}
	if dice < 4 { // it has nothing
		p.faults++
		p.fail(w, dice)
		return
	}
	key := provider + " " + id
	if !filters || !p.keys[key] {
		p.taken[id]++
		p.by[provider]++
	}
	p.keys[key] = true
	if dice < 8 { // it has the mail, and does not say so
		p.faults++
		p.fail(w, dice)
		return
	}
	_, _ = fmt.Fprint(w, accepted)
}

func (p *mailers) fail(w http.ResponseWriter, dice int) {
	if dice%2 == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusInternalServerError)
}

func (p *mailers) recover() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.bad)
}

// Each of many mails goes out once, by whichever of two providers. A person sees to those
// alone that are in doubt, lost or refused at their last try, too.
func TestI9_FailoverOfManyMailsDoublesNone(t *testing.T) {
	t.Parallel()
	many := 1000
	if testlevel.Has(t, testlevel.Nightly) {
		many = 100_000
	}
	clk := mockClock()
	p := &mailers{clk: clk, random: rand.New(rand.NewPCG(7, 1)), bad: map[string]int{}, taken: map[string]int{}, by: map[string]int{}, keys: map[string]bool{}}
	first, second := httptest.NewServer(http.HandlerFunc(p.postmark)), httptest.NewServer(http.HandlerFunc(p.resend))
	t.Cleanup(first.Close)
	t.Cleanup(second.Close)
	a, err := postmark.New("token", &postmark.Options{From: "office@school.example", BaseURL: first.URL})
	if err != nil {
		t.Fatal(err)
	}
	b, err := resend.New("key", &resend.Options{From: "office@school.example", BaseURL: second.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	h := newHost(t, memory.New(&memory.Options{Clock: clk}), clk, &provider{})
	h.with(nil, notify.Failover(a, b))
	for n := 0; n < many; n += 500 {
		var some []notify.OutgoingMessage
		for i := n; i < min(n+500, many); i++ {
			m := letter(fmt.Sprint("m", i), fmt.Sprint("r", i))
			m.Channel, m.Content.Subject = a.Key(), "News"
			some = append(some, m)
		}
		h.ensure(some...)
	}
	for range 400 { // of ten minutes: longer than a mail is tried
		h.drain()
		if p.random.IntN(4) == 0 {
			p.recover()
		}
		clk.Add(10 * time.Minute)
	}
	waiting := 0
	for _, m := range all(h, notify.Messages) {
		taken := p.taken[m.MessageID]
		switch {
		case m.Status == notify.StatusSentToProvider && taken == 1:
		case m.Status == notify.StatusOutcomeUnknown && m.IsOnSupportHold && taken <= 1 && m.RetryCount > 0:
			waiting++ // in doubt at its last try, too
		case m.Status == notify.StatusFailedFinal && m.ReasonCode == notify.ReasonAbsent && taken == 0:
			waiting++ // lost by the provider at its last try, too
		case m.Status == notify.StatusRetryReady && m.HoldReason == notify.HoldRetries && taken == 0:
			waiting++ // refused by whoever was asked, for as long as a mail is tried
		default:
			t.Errorf("taken %d times: %+v", taken, m)
		}
	}
	if p.by["postmark"] == 0 || p.by["resend"] == 0 {
		t.Errorf("sent by %v", p.by)
	}
	t.Logf("%d mails, by %v, after %d faults; %d wait for a person", many, p.by, p.faults, waiting)
}
