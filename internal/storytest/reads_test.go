package storytest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// countersKey is the HashKey of counters.
var countersKey = []byte("0123456789abcdef0123456789abcdef")

// reads are calls that only look.
type reads map[string]func(ctx context.Context) error

// counter is a process that sends under every rule that there is, and has looked at
// nothing yet.
func (w *world) counter() *notify.Notifier {
	key := countersKey
	n := notify.New(w.store, &notify.Options{
		Logger: quiet, HashKey: key, Unsubscribe: &notify.UnsubscribeOptions{URL: "https://host.example/u", Key: key},
		Gates: gate.New(w.store, &gate.Options{
			Caps: []gate.Cap{{Limit: 1, Per: time.Hour}}, Rates: []gate.Rate{{Channel: channelKey, Limit: 1, Per: time.Hour}},
		}),
	}, &w.provider)
	n.Register(notify.Type{Name: "invoice", Renderer: notify.Template{Subject: "Invoice"}})
	return n
}

// invoiced is a job that was sent, and a campaign that was not.
func (w *world) invoiced() notify.MessagingJob {
	w.Helper()
	n := w.counter()
	job := invoice("sam")
	job.Recipients[0].Inbox = "user:sam"
	w.notify(n, job, storage.Created)
	w.drain(n)
	people := notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
		yield(notify.Recipient{Ref: "eve", Channel: channelKey, Address: "eve@example.com"}, nil)
	})
	payload, err := n.Campaigns().PutAudience(w.Context(), people, nil)
	if err != nil {
		w.Fatal(err)
	}
	spring := notify.MessagingJob{Type: "invoice", GUID: "spring", Blob: payload.Blob, AudienceSize: payload.Recipients}
	if _, err := n.EnsureMessagingJob(w.Context(), nil, spring); err != nil {
		w.Fatal(err)
	}
	return spring
}

// ofNotify are those of package notify.
func (w *world) ofNotify(n *notify.Notifier, spring notify.MessagingJob) reads {
	inbox, support, contacts, campaigns := n.Inbox("", "user:sam"), n.Support(), n.Contacts(), n.Campaigns()
	job := invoice()
	page, at := storage.Page{}, job.Coordinates()
	return reads{
		"Inbox.Messages": func(ctx context.Context) error { _, _, err := inbox.Messages(ctx, page); return err },
		"Inbox.Archived": func(ctx context.Context) error { _, _, err := inbox.Archived(ctx, page); return err },
		"Inbox.Count":    func(ctx context.Context) error { _, err := inbox.Count(ctx); return err },
		"Trace":          func(ctx context.Context) error { _, err := n.Trace(ctx, "", at); return err },
		"JobResult":      func(ctx context.Context) error { _, err := n.JobResult(ctx, nil, "", at); return err },
		"Digests":        func(ctx context.Context) error { _, err := n.Digests(ctx, nil, "", at); return err },
		"Preview":        func(ctx context.Context) error { _, err := n.Preview(ctx, job, notify.Recipient{}); return err },
		"Held": func(ctx context.Context) error {
			_, _, err := support.Held(ctx, "", reasons.OutcomeUnknown, page)
			return err
		},
		"Messages":           func(ctx context.Context) error { _, _, err := support.Messages(ctx, "", at.RowKey, page); return err },
		"AllMessages":        func(ctx context.Context) error { _, _, err := support.AllMessages(ctx, "", page); return err },
		"DeadLetters":        func(ctx context.Context) error { _, _, err := support.DeadLetters(ctx, "", "crm", page); return err },
		"DeliveryFacts":      func(ctx context.Context) error { _, err := support.DeliveryFacts(ctx, "", "id"); return err },
		"Pauses":             func(ctx context.Context) error { _, err := support.Pauses(ctx, ""); return err },
		"Quarantined":        func(ctx context.Context) error { _, err := support.Quarantined(ctx); return err },
		"Suppressed":         func(ctx context.Context) error { _, _, err := contacts.Suppressed(ctx, "", page); return err },
		"Preferences":        func(ctx context.Context) error { _, err := contacts.Preferences(ctx, "", "sam"); return err },
		"Campaigns.Progress": func(ctx context.Context) error { _, err := campaigns.Progress(ctx, "", spring.GUID); return err },
		"Campaigns.DryRun":   func(ctx context.Context) error { _, err := campaigns.DryRun(ctx, spring, 1); return err },
		"Campaigns.Content": func(ctx context.Context) error {
			_, err := campaigns.Content(ctx, "", spring.GUID, func(context.Context, notify.CampaignProgress) error { return nil })
			return err
		},
		"AutomationJobs": func(ctx context.Context) error {
			_, _, err := n.AutomationJobs(ctx, nil, "", "invoice", "114", page)
			return err
		},
		"CheckUnsubscribe": func(ctx context.Context) error {
			if err := contacts.CheckUnsubscribe(ctx, "no.token"); !errors.Is(err, notify.ErrUnsubscribeToken) {
				return err
			}
			return nil
		},
		"DryRun": func(ctx context.Context) error {
			_, err := n.DryRun(ctx, notify.OutgoingMessage{Channel: channelKey, PartitionKey: "1", NotificationType: "invoice", Address: "kim@example.com"})
			return err
		},
	}
}

// ofSurvey are those of package survey.
func (w *world) ofSurvey(s *survey.Service, id, token string) reads {
	support, responses := s.Support(), s.Responses()
	page, all := storage.Page{}, survey.ResponseQuery{SurveyID: 1}
	return reads{
		"Surveys":    func(ctx context.Context) error { _, _, err := s.Surveys(ctx, "", page); return err },
		"Versions":   func(ctx context.Context) error { _, _, err := s.Versions(ctx, "", 1, page); return err },
		"Definition": func(ctx context.Context) error { _, err := s.Definition(ctx, "", 1, 1); return err },
		"Form":       func(ctx context.Context) error { _, err := s.Form(ctx, token); return err },
		"Link":       func(ctx context.Context) error { _, err := s.Link(ctx, "", id); return err },
		"Instances": func(ctx context.Context) error {
			_, _, err := support.Instances(ctx, "", survey.Selection{SurveyID: 1}, page)
			return err
		},
		"Instance": func(ctx context.Context) error { _, _, err := support.Instance(ctx, "", id); return err },
		"Explain":  func(ctx context.Context) error { _, err := support.Explain(ctx, "", id); return err },
		"Events":   func(ctx context.Context) error { _, _, err := support.Events(ctx, "", all); return err },
		"Event":    func(ctx context.Context) error { _, err := support.Event(ctx, "", id); return err },
		"survey.DeadLetters": func(ctx context.Context) error {
			_, _, err := support.DeadLetters(ctx, "", "tickets", page)
			return err
		},
		"List": func(ctx context.Context) error { _, _, err := responses.List(ctx, "", all); return err },
		"Get":  func(ctx context.Context) error { _, err := responses.Get(ctx, "", id); return err },
		"ExportCSV": func(ctx context.Context) error {
			_, err := responses.ExportCSV(ctx, "", io.Discard, all, nil)
			return err
		},
		"ExportJSONLines": func(ctx context.Context) error {
			_, err := responses.ExportJSONLines(ctx, "", io.Discard, all)
			return err
		},
	}
}

// whileSomebodyWrites runs f while another goroutine has a transaction open that has
// written.
func (w *world) whileSomebodyWrites(f func()) {
	w.Helper()
	begun, over, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	n := w.desk(w.store)
	go func() {
		done <- w.store.InTx(w.Context(), func(tx storage.Tx) error {
			job := invoice("kim")
			job.RowKey = "115"
			if _, err := n.WithTx(tx).Notify(w.Context(), job); err != nil {
				return err
			}
			close(begun)
			<-over
			return nil
		})
	}()
	select {
	case <-begun:
		f()
	case err := <-done:
		w.Fatal(err)
	}
	close(over)
	if err := <-done; err != nil {
		w.Error(err)
	}
}

// Whoever only looks waits for no writer, not even on a database that has one at a
// time, and not in a process that has looked at nothing before.
func TestWhoOnlyLooksWaitsForNoWriter(t *testing.T) {
	each(t, func(w *world) {
		spring := w.invoiced()
		out := notify.New(w.store, &notify.Options{Logger: quiet, HashKey: countersKey}, &w.provider)
		s := garageOf(w.store, out, map[string]int{})
		w.senders[s] = out
		id := w.visited(s, 1, "sam")[0]
		w.drain(s)
		w.answers(s, id)
		link, err := s.Link(w.Context(), "", id)
		if err != nil {
			w.Fatal(err)
		}
		_, token, _ := strings.Cut(link, "/s/")
		w.whileSomebodyWrites(func() {
			storetest.Answered(w.T, w.ofNotify(w.counter(), spring))
			storetest.Answered(w.T, w.ofSurvey(w.garage(w.store, &w.provider, map[string]int{}), id, token))
		})
	})
}

// In a host's transaction one reads what it has written.
func TestWhatATransactionHasWrittenIsReadInIt(t *testing.T) {
	each(t, func(w *world) {
		n, s := w.desk(w.store), w.garage(w.store, &w.provider, map[string]int{})
		err := w.store.InTx(w.Context(), func(tx storage.Tx) error {
			n, s := n.WithTx(tx), s.WithTx(tx)
			if _, err := n.Notify(w.Context(), invoice("sam")); err != nil {
				return err
			}
			if trace, err := n.Trace(w.Context(), "", notify.Coordinates{PartitionKey: "customer-17", RowKey: "114"}); err != nil || trace.Job == nil || len(trace.Schedules) != 1 {
				w.Errorf("%+v, %v", trace, err)
			}
			if _, err := s.Publish(w.Context(), survey.Version{SurveyID: 1, Name: "Visits", Definition: json.RawMessage(visits)}); err != nil {
				return err
			}
			if list, _, err := s.Surveys(w.Context(), "", storage.Page{}); err != nil || len(list) != 1 {
				w.Errorf("%+v, %v", list, err)
			}
			return nil
		})
		if err != nil {
			w.Error(err)
		}
	})
}
