package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// demo is a program with one published survey: a link after an hour, and a reminder
// two days later.
type demo struct {
	ctx   context.Context
	clock *clock.Mock
	store storage.Store
}

func newDemo() demo {
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 5, 14, 5, 0, 0, 0, time.UTC))
	return demo{context.Background(), clk, memory.New(&memory.Options{Clock: clk})}
}

// offer publishes the survey and tells of one event. It returns the link's public
// id.
func (d demo) offer(s *survey.Service) string {
	_, err := s.Publish(d.ctx, survey.Version{SurveyID: 7, Name: "Your visit", IntegrationID: "visit", Definition: json.RawMessage(definition("1h", []string{"2d"}))})
	mustSend(err)
	got, err := s.Ingest(d.ctx, survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
		Payload:   json.RawMessage(`{"wip": "40956", "model": "Corolla"}`),
		Recipient: survey.Recipient{Address: "ann@example.com", Locale: "en", CustomerRef: "c-1"},
	}}})
	mustSend(err)
	return got.Items[0].Instances[0].PublicID
}

// tick moves the clock and polls once.
func (d demo) tick(s *survey.Service, after time.Duration) {
	d.clock.Add(after)
	_, err := s.PollOnce(d.ctx, 100)
	mustSend(err)
}

func mustSend(err error) {
	if err != nil {
		panic(err)
	}
}

// print is a channel that writes to the screen.
func (d demo) print(_ context.Context, m channel.Message) (channel.Receipt, error) {
	fmt.Println(d.clock.Now().Format(time.DateTime), m.Subject)
	return channel.Receipt{ID: "p-1"}, nil
}

// A host with a timer of its own ticks: the link, its reminder, and the end.
func ExampleService_PollOnce() {
	d := newDemo()
	s := survey.New(d.store, notify.New(d.store, nil, channel.Func("memory:default", d.print)), &survey.Options{SurveyURL: "https://example.com/s/{token}"})
	id := d.offer(s)
	for _, after := range []time.Duration{0, time.Hour, 24 * time.Hour, 24 * time.Hour, 30 * 24 * time.Hour} {
		d.clock.Add(after)
		report, err := s.PollOnce(d.ctx, 100)
		mustSend(err)
		e, err := s.Support().Explain(d.ctx, "", id)
		mustSend(err)
		fmt.Println(report.Processed, e.Instance.Status)
	}
	// Output:
	// 0 Pending
	// 2026-05-14 06:00:00 How was it? Your visit
	// 1 Sent
	// 0 Sent
	// 2026-05-16 06:00:00 A reminder: Your visit
	// 1 Sent
	// 1 Expired
}

// A host has its own texts, such as those of a provider's template.
func ExampleRenderer() {
	d := newDemo()
	s := survey.New(d.store, notify.New(d.store, nil, channel.Func("memory:default", d.print)), &survey.Options{
		SurveyURL: "https://example.com/s/{token}",
		Renderer: rendererFunc(func(l form.LinkData) (form.Parts, error) {
			return form.Parts{Subject: fmt.Sprintf("Your %s, send %d", l.Value("model"), l.Ordinal)}, nil
		}),
	})
	d.offer(s)
	d.tick(s, time.Hour)
	d.tick(s, 48*time.Hour)
	// Output:
	// 2026-05-14 06:00:00 Your Corolla, send 0
	// 2026-05-16 06:00:00 Your Corolla, send 1
}

// Support finds out why a link was not sent, and has it sent now.
func ExampleSupport_Explain() {
	d := newDemo()
	away := true
	s := survey.New(d.store, notify.New(d.store, nil, channel.Func("memory:default", func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
		if away {
			return channel.Receipt{}, channel.Transient("throttled", 2*time.Hour, errors.New("try later"))
		}
		return d.print(ctx, m)
	})), &survey.Options{SurveyURL: "https://example.com/s/{token}"})
	id := d.offer(s)
	d.tick(s, time.Hour)
	tell := func() {
		e, err := s.Support().Explain(d.ctx, "", id)
		mustSend(err)
		for _, entry := range e.Deliveries {
			fmt.Println(entry)
		}
		fmt.Println("now:", e.Now)
	}
	tell()
	away = false
	mustSend(s.Support().Retry(d.ctx, "", id, survey.By{Actor: "sam", Reason: "the provider is back"}))
	d.tick(s, 0)
	tell()
	// Output:
	// 2026-05-14T06:00:00Z: initial send, call 1: failed (throttled)
	// now: initial send goes out on 2026-05-14T08:00:00Z, put off for throttled; reminders after it: 1; not sent by 2026-06-13T06:00:00Z it expires
	// 2026-05-14 06:00:00 How was it? Your visit
	// 2026-05-14T06:00:00Z: initial send, call 1: failed (throttled)
	// 2026-05-14T06:00:00Z: initial send, call 2: delivered as p-1
	// now: reminder 1 goes out on 2026-05-16T06:00:00Z; reminders after it: 0; not sent by 2026-06-15T06:00:00Z it expires
}

// A customer has lost the link: it is sent once more, beside what is planned.
func ExampleSupport_Rerun() {
	d := newDemo()
	s := survey.New(d.store, notify.New(d.store, nil, channel.Func("memory:default", d.print)), &survey.Options{SurveyURL: "https://example.com/s/{token}"})
	id := d.offer(s)
	d.tick(s, time.Hour)
	mustSend(s.Support().Rerun(d.ctx, "", id, survey.By{Actor: "sam", Reason: "the customer lost it"}))
	d.tick(s, 24*time.Hour)
	d.tick(s, 48*time.Hour)
	// Output:
	// 2026-05-14 06:00:00 How was it? Your visit
	// 2026-05-15 06:00:00 A reminder: Your visit
	// 2026-05-17 06:00:00 A reminder: Your visit
}
