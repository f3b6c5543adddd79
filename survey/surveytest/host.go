package surveytest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// MemoryChannel is the key of the channel that a Host has.
const MemoryChannel = "memory:default"

// TB is what the methods of this package need of a testing.TB.
type TB = notifytest.TB

// Options are the settings of a Host; nil and every zero value are useful.
type Options struct {
	// Survey are the settings of the service. Without a SurveyURL of its own it has
	// "https://host.example/s/{token}".
	Survey survey.Options
	// Notify are those of the Notifier that sends its links.
	Notify notify.Options
	// Scope is the tenant whose surveys these are.
	Scope survey.Scope
	// Channel records the links; nil: one with the key [MemoryChannel] that accepts
	// all of them. One that refuses, or has the key that the program's own
	// definition names, comes from package notifytest:
	//
	//	notifytest.Failing(err).As("sms:twilio")
	Channel *notifytest.Recorder
	// Channels are further ones.
	Channels []channel.Channel
}

// Host is a program with surveys, for a test. The test calls it from one goroutine.
type Host struct {
	// Surveys is the service: the test subscribes to it, and calls what the Host
	// has no method for.
	Surveys *survey.Service
	// Out sends the links.
	Out   *notify.Notifier
	Store storage.Store
	// Clock stands still but for [Host.Advance]. It begins on 14 May 2026 at
	// 05:12:34 UTC.
	Clock *clock.Mock
	// Channel has the links that were sent.
	Channel *notifytest.Recorder

	scope survey.Scope
	url   string // the template of links
}

var begin = time.Date(2026, time.May, 14, 5, 12, 34, 0, time.UTC)

// New makes a Host. It panics where survey.New does, such as on two channels of one
// key.
func New(opts *Options) *Host {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Channel == nil {
		o.Channel = notifytest.NewRecorder().As(MemoryChannel)
	}
	if o.Survey.SurveyURL == "" {
		o.Survey.SurveyURL = "https://host.example/s/{token}"
	}
	h := &Host{Clock: clock.NewMock(), Channel: o.Channel, scope: o.Scope, url: o.Survey.SurveyURL}
	h.Clock.Set(begin)
	h.Store = memory.New(&memory.Options{Clock: h.Clock})
	h.Out = notify.New(h.Store, &o.Notify, append([]channel.Channel{o.Channel}, o.Channels...)...)
	h.Surveys = survey.New(h.Store, h.Out, &o.Survey)
	return h
}

// Publish publishes v in the Host's scope, and ends the test if that is refused.
func (h *Host) Publish(t TB, v survey.Version) survey.Published {
	t.Helper()
	v.Scope = h.scope
	got, err := h.Surveys.Publish(context.Background(), v)
	if err != nil {
		t.Fatalf("surveytest: %v", err)
	}
	return got
}

// Ingest tells of one event that has just happened, payload being a JSON object, and
// says what became of it. Nothing is sent before [Host.Advance]. It ends the test if
// the event, or a link of it, failed; a test of that calls the service itself.
func (h *Host) Ingest(t TB, eventKind, payload string, to survey.Recipient) survey.ItemReport {
	t.Helper()
	report, err := h.Surveys.Ingest(context.Background(), survey.Batch{
		Scope: h.scope, EventKind: eventKind,
		Items: []survey.Item{{Payload: json.RawMessage(payload), Recipient: to}},
	})
	if err != nil {
		t.Fatalf("surveytest: %v", err)
		return survey.ItemReport{} // a TB of the caller's own may go on
	}
	got := report.Items[0]
	if got.Outcome == survey.Failed {
		t.Fatalf("surveytest: ingest of %s: %s", eventKind, reasons(got))
	}
	return got
}

// reasons are those of an item that failed.
func reasons(i survey.ItemReport) string {
	all := i.Reason
	for _, instance := range i.Instances {
		if instance.Reason != "" {
			all += "\n\t" + instance.TriggerID + ": " + instance.Reason
		}
	}
	return all
}

// Advance lets d pass, which may be zero: what is due now is done at once, and what
// becomes due meanwhile at its own moment and in order, as by a program that never
// sleeps. That is every send, reminder and expiry, and every call of a subscriber
// and its repetition. Links of other scopes than the Host's are looked at in the end.
// It ends the test if a poll fails.
func (h *Host) Advance(t TB, d time.Duration) {
	t.Helper()
	end := h.Clock.Now().Add(d)
	for {
		next, err := h.run(context.Background(), end)
		if err != nil {
			t.Fatalf("surveytest: %v", err)
			return
		}
		if next.IsZero() {
			break
		}
		h.Clock.Set(next)
	}
	if h.Clock.Now().Before(end) {
		h.Clock.Set(end)
		h.Advance(t, 0)
	}
}

// run does what is due, and says what is due next until the end; zero: nothing.
func (h *Host) run(ctx context.Context, end time.Time) (time.Time, error) {
	for {
		done, err := h.Surveys.PollOnce(ctx, 1000)
		if err != nil {
			return time.Time{}, err
		}
		if done.Processed == 0 {
			break
		}
	}
	w := window{after: h.Clock.Now(), until: end}
	for p := (storage.Page{}); ; {
		list, next, err := h.Surveys.Surveys(ctx, h.scope, p)
		if err != nil {
			return time.Time{}, err
		}
		for _, s := range list {
			if err := h.dueOf(ctx, s.ID, &w); err != nil {
				return time.Time{}, err
			}
		}
		if next == "" {
			return w.first, nil
		}
		p.After = next
	}
}

// window finds the first moment in a span of time.
type window struct{ after, until, first time.Time }

func (w *window) see(on time.Time) {
	if on.After(w.after) && !on.After(w.until) && (w.first.IsZero() || on.Before(w.first)) {
		w.first = on
	}
}

// dueOf sees when the links of a survey, and its events, are due.
func (h *Host) dueOf(ctx context.Context, surveyID int64, w *window) error {
	for p := (storage.Page{Limit: 1000}); ; {
		list, next, err := h.Surveys.Support().Instances(ctx, h.scope, survey.Selection{SurveyID: surveyID}, p)
		if err != nil {
			return err
		}
		for _, i := range list {
			w.see(i.DueOn)
			w.see(i.NextTryOn) // of its message
		}
		if next == "" {
			return h.dueEvents(ctx, surveyID, w)
		}
		p.After = next
	}
}

func (h *Host) dueEvents(ctx context.Context, surveyID int64, w *window) error {
	for q := (survey.ResponseQuery{SurveyID: surveyID}); ; {
		list, next, err := h.Surveys.Support().Events(ctx, h.scope, q)
		if err != nil {
			return err
		}
		for _, e := range list {
			for _, d := range e.Deliveries {
				w.see(d.DueOn)
			}
		}
		if q.After = next; next == "" {
			return nil
		}
	}
}
