package browsertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// site is a host with one survey and one link to it.
type site struct {
	survey *survey.Service
	url    string       // of the link
	opened atomic.Int64 // beacons
	clock  *clock.Mock
	heard  chan survey.ResponseCompleted
	poller *belfry.Poller
}

var token = regexp.MustCompile(`https://host\.example/s/([^\s?"<]+)`)

// open publishes a definition, and sends its link to somebody who reads locale.
func open(t *testing.T, definition, locale string) *site {
	t.Helper()
	s := &site{heard: make(chan survey.ResponseCompleted, 1), clock: clock.NewMock()}
	s.clock.Set(time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC))
	var text string
	store := memory.New(&memory.Options{Clock: s.clock})
	out := notify.New(store, nil, channel.Func("memory:default", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		text = m.Text
		return channel.Receipt{ID: m.ID}, nil
	}))
	s.survey = survey.New(store, out, &survey.Options{SurveyURL: "https://host.example/s/{token}", LinkKey: bytes.Repeat([]byte("k"), 32)})
	s.survey.Subscribe(survey.SubscriberFunc("test", func(_ context.Context, e survey.ResponseCompleted) error {
		s.heard <- e
		return nil
	}))
	s.poller = belfry.NewPoller(store, nil, s.survey, out)
	forms := surveyhttp.Forms(s.survey, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/opened") {
			s.opened.Add(1)
		}
		forms.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	_, err := s.survey.Publish(t.Context(), survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(definition)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.survey.Ingest(t.Context(), survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
		Payload: json.RawMessage(`{"wip":"40956"}`), Recipient: survey.Recipient{Address: "+9647700000001", Locale: locale},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.poller.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := token.FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no link in %q", text)
	}
	s.url = server.URL + "/s/" + found[1]
	return s
}
