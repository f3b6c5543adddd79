package watermill_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	wm "github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/subscriber/watermill"
)

var start = time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC)

const (
	topic      = "surveys.completed"
	definition = `{
		"questions": [{"id": "rate", "type": "rating", "min": 1, "max": 10, "required": true}],
		"triggers": [{
			"id": "visit", "enabled": true, "eventKind": "service-visit-closed",
			"dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
			"schedule": {"initialDelay": "1d", "reminders": []}, "channel": "memory:default"
		}]
	}`
)

// broker is a NATS server with JetStream in this process, with a stream for topic.
func broker(t *testing.T) (*server.Server, jetstream.Stream) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the broker does not come up")
	}
	conn, err := natsgo.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "SURVEYS", Subjects: []string{topic}, Duplicates: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return s, stream
}

func publisher(t *testing.T, s *server.Server) *nats.Publisher {
	t.Helper()
	p, err := nats.NewPublisher(nats.PublisherConfig{
		URL:         s.ClientURL(),
		NatsOptions: []natsgo.Option{natsgo.NoReconnect()},
		JetStream:   nats.JetStreamConfig{TrackMsgId: true},
	}, wm.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// host is a program with a survey, one response and a subscriber.
type host struct {
	t        *testing.T
	clock    *clock.Mock
	survey   *survey.Service
	poller   *belfry.Poller
	publicID string
}

func answered(t *testing.T, sub survey.Subscriber) *host {
	t.Helper()
	mock := clock.NewMock()
	mock.Set(start)
	store := memory.New(&memory.Options{Clock: mock})
	h := &host{t: t, clock: mock}
	out := notify.New(store, nil, channel.Func("memory:default",
		func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil }))
	h.survey = survey.New(store, out, &survey.Options{SurveyURL: "https://host.example/s/{token}"})
	h.survey.Subscribe(sub)
	h.poller = belfry.NewPoller(store, nil, h.survey, out)
	_, err := h.survey.Publish(t.Context(), survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(definition)})
	h.must(err)
	report, err := h.survey.Ingest(t.Context(), survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
		Payload: json.RawMessage(`{"wip":"40956"}`), Recipient: survey.Recipient{Address: "+964 770 000 0001", Locale: "ar", CustomerRef: "cust-123"},
	}}})
	h.must(err)
	h.publicID = report.Items[0].Instances[0].PublicID
	_, err = h.survey.Complete(t.Context(), "", h.publicID, survey.Response{Answers: json.RawMessage(`{"rate": 3}`)})
	h.must(err)
	return h
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) drain() {
	h.t.Helper()
	h.must(h.poller.Drain(h.t.Context()))
}

// event is where the response is on its way.
func (h *host) event() survey.OutboxEvent {
	h.t.Helper()
	e, err := h.survey.Support().Event(h.t.Context(), "", h.publicID)
	h.must(err)
	return e
}

func inStream(t *testing.T, s jetstream.Stream) uint64 {
	t.Helper()
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

// The event's id is the message's, so that the broker itself knows an event that is
// published again: after a crash, or because somebody replays it.
func TestJetStreamHoldsAnEventOnceHoweverOftenItIsPublished(t *testing.T) {
	t.Parallel()
	s, stream := broker(t)
	h := answered(t, watermill.New("nats:surveys", topic, publisher(t, s)))
	h.drain()
	message, err := stream.GetMsg(t.Context(), 1)
	h.must(err)
	if got := message.Header.Get(natsgo.MsgIdHdr); got != h.event().EventID || got == "" {
		t.Errorf("message id %q, event id %q", got, h.event().EventID)
	}
	var got survey.ResponseCompleted
	h.must(json.Unmarshal(message.Data, &got))
	want := survey.ResponseCompleted{
		EventID: h.event().EventID, EventType: survey.EventResponseCompleted, SurveyID: 4523, SurveyVersion: 1, SurveyIntegrationID: "csi-gr",
		InstancePublicID: h.publicID, TriggerID: "visit", CustomerRef: "cust-123", RecipientAddress: "+964 770 000 0001", RecipientLocale: "ar",
		CompletedOn: start, Answers: json.RawMessage(`{"rate":3}`), CandidateMetadata: json.RawMessage(`{"wip":"40956"}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for range 3 {
		h.must(h.survey.Support().ReplayEvent(t.Context(), "", h.publicID, "nats:surveys", survey.By{Actor: "sam", Reason: "they lost it"}))
		h.drain()
		if e := h.event(); e.Status != survey.EventDispatched {
			t.Errorf("%+v", e)
		}
	}
	if n := inStream(t, stream); n != 1 {
		t.Errorf("%d messages in the stream, want 1", n)
	}
}

func TestWhatTheBrokerDidNotTakeIsPublishedAgain(t *testing.T) {
	t.Parallel()
	s, stream := broker(t)
	again := publisher(t, s)
	sub := &switched{Subscriber: watermill.New("nats:surveys", topic, publisher(t, s)), down: true}
	h := answered(t, sub)
	h.drain()
	if e := h.event(); e.Status != survey.EventPending || e.Deliveries[0].Attempts != 1 {
		t.Errorf("%+v", e)
	}
	sub.Subscriber, sub.down = watermill.New("nats:surveys", topic, again), false
	h.clock.Add(time.Hour)
	h.drain()
	if e := h.event(); e.Status != survey.EventDispatched || inStream(t, stream) != 1 {
		t.Errorf("%+v, %d messages", e, inStream(t, stream))
	}
}

// switched is a subscriber whose broker goes away in the middle of a call.
type switched struct {
	*watermill.Subscriber
	down bool
}

func (s *switched) Dispatch(ctx context.Context, e survey.ResponseCompleted) error {
	err := s.Subscriber.Dispatch(ctx, e)
	if s.down {
		return errors.Join(err, errors.New("the acknowledgement was lost"))
	}
	return err
}

func TestAPublisherWithoutABrokerFails(t *testing.T) {
	t.Parallel()
	s, _ := broker(t)
	p := publisher(t, s)
	s.Shutdown()
	s.WaitForShutdown()
	h := answered(t, watermill.New("nats:surveys", topic, p))
	h.drain()
	if e := h.event(); e.Status != survey.EventPending || e.Deliveries[0].Attempts != 1 || e.Deliveries[0].LastError == "" {
		t.Errorf("%+v", e)
	}
}

func TestNewPanicsOnWhatOnlyAProgrammerCanCause(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(){
		"no key":       func() { watermill.New("", topic, &nats.Publisher{}) },
		"no topic":     func() { watermill.New("key", "", &nats.Publisher{}) },
		"no publisher": func() { watermill.New("key", topic, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(name)
				}
			}()
			build()
		}()
	}
}
