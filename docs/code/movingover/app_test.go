package movingover

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify/channel/sendgrid"
)

// outbox stands in for SendGrid and keeps the subjects.
type outbox struct {
	mu       sync.Mutex
	subjects []string
}

func (o *outbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var mail struct{ Subject string }
	if err := json.NewDecoder(r.Body).Decode(&mail); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.subjects = append(o.subjects, mail.Subject)
	w.Header().Set("X-Message-Id", "1")
	w.WriteHeader(http.StatusAccepted)
}

// sent is what went out since the last call.
func (o *outbox) sent() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.subjects
	o.subjects = nil
	return out
}

func start(t *testing.T) (*app, *outbox, *clock.Mock) {
	t.Helper()
	clk, provider := clock.NewMock(), &outbox{}
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	server := httptest.NewServer(provider)
	t.Cleanup(server.Close)
	a, err := newApp(t.Context(), filepath.Join(t.TempDir(), "app.db"), "SG.test", &sendgrid.Options{From: "office@school.example", BaseURL: server.URL}, clk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.store.Close() })
	return a, provider, clk
}

func (a *app) drain(t *testing.T) {
	t.Helper()
	if err := a.poller().Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

var expires = automation.Date{Year: 2026, Month: time.May, Day: 1}

// What the cron job does wrong is what the reminder does right: a mail whose note is lost
// goes out again, and a day without a run is a mail that is never sent.
func TestTheCronJobDoublesAndForgetsAndTheReminderDoesNot(t *testing.T) {
	t.Parallel()
	a, provider, clk := start(t)
	for _, id := range []string{"first-aid", "forklift"} {
		if err := a.saveCertificate(t.Context(), id, id+"@example.com", expires); err != nil {
			t.Fatal(err)
		}
	}
	lost, mails := errors.New("killed"), 0
	dies := func(string, string) error { mails++; return lost } // it was sent, and that was not recorded
	works := func(string, string) error { mails++; return nil }
	if err := everyMorning(t.Context(), a.db, "2026-04-01", dies); !errors.Is(err, lost) {
		t.Fatal(err)
	}
	if err := everyMorning(t.Context(), a.db, "2026-04-01", works); err != nil || mails != 3 {
		t.Errorf("before: two certificates, %d mails, %v", mails, err)
	}
	mails = 0
	if err := everyMorning(t.Context(), a.db, "2026-04-02", works); err != nil || mails != 0 {
		t.Errorf("before: a person who was not reached on the day got %d mails, %v", mails, err)
	}

	clk.Add(32 * 24 * time.Hour) // no poller ran on the day itself
	a.drain(t)
	a.drain(t)
	want := []string{"Your certificate expires on 2026-05-01", "Your certificate expires on 2026-05-01"}
	if got := provider.sent(); !slices.Equal(got, want) {
		t.Errorf("after: %q", got)
	}
}

// A date that moves takes its reminder along.
func TestADateThatMovesTakesItsReminderAlong(t *testing.T) {
	t.Parallel()
	a, provider, clk := start(t)
	for _, date := range []automation.Date{expires, expires.AddDays(31)} {
		if err := a.saveCertificate(t.Context(), "first-aid", "sam@example.com", date); err != nil {
			t.Fatal(err)
		}
	}
	clk.Add(90 * 24 * time.Hour)
	a.drain(t)
	if got := provider.sent(); !slices.Equal(got, []string{"Your certificate expires on 2026-06-01"}) {
		t.Errorf("%q", got)
	}
}

// Saying it twice is saying it once, also after it was sent; a later moment is kept.
func TestAJobIsTheSameForGood(t *testing.T) {
	t.Parallel()
	a, provider, clk := start(t)
	on := clk.Now().Add(time.Hour)
	say := func() {
		t.Helper()
		if err := a.enqueue(t.Context(), "1001", "sam", "sam@example.com", on); err != nil {
			t.Fatal(err)
		}
		a.drain(t)
	}
	say()
	if got := provider.sent(); len(got) != 0 {
		t.Errorf("before its moment: %q", got)
	}
	clk.Add(time.Hour)
	say()
	say()
	if got := provider.sent(); !slices.Equal(got, []string{"We have your order"}) {
		t.Errorf("%q", got)
	}
}

// The mail and the order are one transaction: both or neither.
func TestTheHandlersMailCommitsWithItsOrder(t *testing.T) {
	t.Parallel()
	a, provider, _ := start(t)
	first := a.takeOrder(t.Context(), "1001", "sam@example.com")
	second := a.takeOrder(t.Context(), "1001", "kim@example.com")
	if first != nil || second == nil {
		t.Fatalf("an order is taken once: %v, then %v", first, second)
	}
	if got := provider.sent(); len(got) != 0 {
		t.Errorf("within the request: %q", got)
	}
	a.drain(t)
	if got := provider.sent(); !slices.Equal(got, []string{"We have your order"}) {
		t.Errorf("%q", got)
	}
}
