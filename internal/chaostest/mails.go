package chaostest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/postmark"
	"github.com/belfry-go/belfry/notify/channel/resend"
	"github.com/belfry-go/belfry/storage"
)

// mailbox is what providers have made mails of, each by its documented rules: Resend takes
// a key once, Postmark takes everything and can be asked.
type mailbox struct {
	*provider
	ahead   atomic.Int64   // how far its clock is ahead, which is that of the workers
	mails   map[string]int // by provider and message id; under the provider's lock
	repeats int            // requests under a key that Resend knew
	asked   int            // questions to Postmark
	batches int            // requests to Postmark with several mails
}

func newMailbox(t *testing.T) *mailbox {
	b := &mailbox{provider: &provider{arrived: make(chan struct{}, 1<<16)}, mails: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /emails", b.resend)
	mux.HandleFunc("POST /email", b.postmark)
	mux.HandleFunc("POST /email/batch", b.batch)
	mux.HandleFunc("GET /messages/outbound", b.search)
	b.Server = httptest.NewServer(mux)
	t.Cleanup(b.Close)
	return b
}

func (b *mailbox) resend(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Idempotency-Key")
	if b.take(r, id, func() {
		if b.mails["resend "+id] > 0 {
			b.repeats++
			return
		}
		b.mails["resend "+id]++
	}) {
		fmt.Fprintf(w, `{"id":"re-%s"}`, id)
	}
}

// posted is a mail as Postmark is handed it. One without an id has no recipient.
type posted struct {
	Metadata struct {
		ID string `json:"belfry_message"`
	}
}

func (b *mailbox) postmark(w http.ResponseWriter, r *http.Request) {
	var mail posted
	_ = json.NewDecoder(r.Body).Decode(&mail)
	id := mail.Metadata.ID
	if b.take(r, id, func() { b.mails["postmark "+id]++ }) {
		_ = json.NewEncoder(w).Encode(answerOf(mail))
	}
}

// batch makes all mails of a request, or none.
func (b *mailbox) batch(w http.ResponseWriter, r *http.Request) {
	var mails []posted
	_ = json.NewDecoder(r.Body).Decode(&mails)
	var answers []map[string]any
	for _, m := range mails {
		answers = append(answers, answerOf(m))
	}
	if b.take(r, mails[0].Metadata.ID, func() {
		b.batches++
		for _, m := range mails {
			b.mails["postmark "+m.Metadata.ID]++
		}
	}) {
		_ = json.NewEncoder(w).Encode(answers)
	}
}

func answerOf(m posted) map[string]any {
	return map[string]any{"ErrorCode": 0, "Message": "OK", "MessageID": "pm-" + m.Metadata.ID}
}

// take makes a mail, unless the caller has gone before: of half of the messages that is
// looked at when the request is read, of the others when it is answered.
func (b *mailbox) take(r *http.Request, id string, accept func()) bool {
	b.arrived <- struct{}{}
	if isTold(id) && !b.waited(r) {
		return false
	}
	b.mu.Lock()
	accept()
	b.mu.Unlock()
	return b.waited(r)
}

// waited waits while the provider is mute, and reports whether the caller did so too.
func (b *mailbox) waited(r *http.Request) bool {
	b.mu.Lock()
	muted := b.muted
	b.mu.Unlock()
	if muted == nil {
		return true
	}
	select {
	case <-muted:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (b *mailbox) search(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("metadata_belfry_message")
	b.mu.Lock()
	found := b.mails["postmark "+id]
	b.asked++
	b.mu.Unlock()
	w.Header().Set("Date", clock.New().Now().Add(time.Duration(b.ahead.Load())).UTC().Format(http.TimeFormat))
	if found == 0 {
		fmt.Fprint(w, `{"TotalCount":0,"Messages":[]}`)
		return
	}
	fmt.Fprintf(w, `{"TotalCount":%d,"Messages":[{"MessageID":"pm-%s","Metadata":{"belfry_message":%q}}]}`, found, id, id)
}

// mailing is a run of messages of which each channel gets as many.
type mailing struct {
	*arena
	box      *mailbox
	channels []string
	messages int
}

// Mails has mails flow over Resend and Postmark, there one by one and in batches, while
// workers are killed at random moments, some of them in the middle of calls. Each is made
// once, and no doubt waits for a person or asks a policy: Resend knows a repeat, and
// Postmark finds what it has.
func Mails(t *testing.T, d Driver) {
	messages, kills := 2100, 16
	if testlevel.Has(t, testlevel.Nightly) {
		messages, kills = 5001, 40
	}
	box := newMailbox(t)
	m := &mailing{arena: &arena{t: t, driver: d, dsn: d.DSN(t), provider: box.provider, rnd: random(t), minKills: kills}, box: box}
	for _, c := range mailChannels(box.URL) {
		m.channels = append(m.channels, c.Key())
	}
	m.messages = messages - messages%len(m.channels)
	m.write()
	for m.kills < m.minKills {
		m.round("mails", m.cut)
		m.passes()
	}
	flowing := m.made()
	for range 40 {
		if err := m.start("mailsdrain").Wait(); err != nil {
			t.Fatal(err)
		}
		if m.query("SELECT 'open', count(*) FROM outgoing_message WHERE due_on IS NOT NULL")["open"] == 0 {
			break
		}
		m.passes()
	}
	if flowing >= m.messages {
		t.Errorf("everything was sent before the last kill: the kills proved nothing")
	}
	doubts := m.query("SELECT kind, sum(CASE WHEN doubts > 0 THEN 1 ELSE 0 END) FROM outgoing_message GROUP BY kind")
	t.Logf("%s: %d kills, %d messages, %d of them before the last kill, doubts %v, %d repeats known to Resend, %d questions to Postmark, %d batches",
		d.Name, m.kills, m.messages, flowing, doubts, m.box.repeats, m.box.asked, m.box.batches)
	m.check(doubts)
}

// between is the time from one pair of kills to the next: longer than a lease and than
// Postmark takes to find what it has, and so short that all of them are within a day. A
// repeat queues behind what was due before it, and for Resend must go out within 23 hours
// of the first call.
const between = 30 * time.Minute

// passes advances the time, for all processes.
func (m *mailing) passes() {
	m.offset += between
	m.box.ahead.Store(int64(m.offset))
}

func (m *mailing) made() int {
	m.box.mu.Lock()
	defer m.box.mu.Unlock()
	return len(m.box.mails)
}

// write makes the messages, in a process that has no channel for them.
func (m *mailing) write() {
	m.on(func(ctx context.Context, h *Host) error {
		out := notify.New(h.Store, nil)
		registerLetter(out)
		for _, channel := range m.channels {
			payload, err := out.Campaigns().PutAudience(ctx, notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
				for i := range m.messages / len(m.channels) {
					name := fmt.Sprintf("p%05d", i)
					if !yield(notify.Recipient{Ref: name, Address: name + "@example.com"}, nil) {
						return
					}
				}
			}), &notify.PayloadOptions{Channel: channel})
			if err != nil {
				return err
			}
			job := notify.MessagingJob{Type: "letter", GUID: channel, Blob: payload.Blob, AudienceSize: payload.Recipients}
			if _, err := out.EnsureMessagingJob(ctx, nil, job); err != nil {
				return err
			}
			if _, err := out.EnsureNotificationScheduler(ctx, nil, notify.ScheduleForCampaign(job, time.Time{})); err != nil {
				return err
			}
		}
		return belfry.NewPoller(h.Store, nil, out).Drain(ctx)
	})
	if n := m.query("SELECT 'all', count(*) FROM outgoing_message WHERE due_on IS NOT NULL")["all"]; n != m.messages {
		m.t.Fatalf("%d messages are due, want %d", n, m.messages)
	}
}

// check accounts for every message.
func (m *mailing) check(doubts map[string]int) {
	twice := 0
	for _, n := range m.box.mails {
		if n != 1 {
			twice++
		}
	}
	if lost := m.messages - len(m.box.mails); lost != 0 || twice != 0 {
		m.t.Errorf("%d lost, %d made twice", lost, twice)
	}
	if n := m.query("SELECT 'sent', count(*) FROM outgoing_message WHERE status = 'SentToProvider' AND provider_message_id <> ''")["sent"]; n != m.messages {
		m.t.Errorf("%d of %d are known to be sent; the others: %v", n, m.messages, m.query(
			"SELECT status || ' ' || reason_code || ' ' || hold_reason || ' ' || resolution, count(*) FROM outgoing_message WHERE status <> 'SentToProvider' GROUP BY 1"))
	}
	if n := m.query("SELECT 'held', count(*) FROM outgoing_message WHERE is_on_support_hold")["held"]; n != 0 {
		m.t.Errorf("%d wait for a person", n)
	}
	for _, channel := range m.channels {
		if doubts[channel] == 0 {
			m.t.Errorf("no doubts of %s: the kills proved nothing", channel)
		}
	}
	if m.box.batches == 0 {
		m.t.Error("there were no batches")
	}
	for how, n := range m.query("SELECT resolution, count(*) FROM outgoing_message WHERE doubts > 0 GROUP BY resolution") {
		if how != string(notify.ResolvedByLookup) && how != string(notify.ResolvedAsAbsent) && how != string(notify.ResolvedByIdempotency) {
			m.t.Errorf("%d doubts ended by %q", n, how)
		}
	}
}

func registerLetter(out *notify.Notifier) {
	out.Register(notify.Type{Name: "letter", Renderer: notify.Template{Subject: "A letter", Text: "To all of you."}})
}

// mails is the host's program with channels of mail, and no policy for doubts.
func mails(store storage.Store, provider string) (*automation.Scheduler, *notify.Notifier) {
	out := notify.New(store, nil, mailChannels(provider)...)
	registerLetter(out)
	return automation.New(store, out, nil), out
}

// mailChannels are those that end their doubts by themselves.
func mailChannels(provider string) []channel.Channel {
	first, err := resend.New("re_key", &resend.Options{From: "office@school.example", BaseURL: provider})
	must(err)
	second, err := postmark.New("token", &postmark.Options{From: "office@school.example", BaseURL: provider})
	must(err)
	third, err := postmark.New("token", &postmark.Options{Key: "email:batches", From: "office@school.example", BaseURL: provider, Batch: 20})
	must(err)
	return []channel.Channel{first, second, third}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
