package surveytest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveytest"
)

// judge is a TB that keeps what a test would have failed with, and goes on.
type judge struct{ verdicts []string }

func (j *judge) Helper() {}

func (j *judge) Errorf(format string, args ...any) {
	j.verdicts = append(j.verdicts, fmt.Sprintf(format, args...))
}

func (j *judge) Fatalf(format string, args ...any) { j.Errorf(format, args...) }

// said takes the one verdict, which holds all of these texts.
func (j *judge) said(t *testing.T, texts ...string) {
	t.Helper()
	if len(j.verdicts) != 1 {
		t.Fatalf("%d verdicts: %q", len(j.verdicts), j.verdicts)
	}
	for _, text := range texts {
		if !strings.Contains(j.verdicts[0], text) {
			t.Errorf("no %q in %s", text, j.verdicts[0])
		}
	}
	j.verdicts = nil
}

const (
	kind    = "service-visit-closed"
	visit   = `{"wip": "40956", "dealerId": "1", "jobType": "GR"}`
	address = "+964 770 000 0001"
)

var customer = survey.Recipient{Address: address, Locale: "ar", CustomerRef: "cust-123"}

// visited is a host whose customer has had a visit.
func visited(t *testing.T, opts *surveytest.Options) *surveytest.Host {
	t.Helper()
	h := surveytest.New(opts)
	h.Publish(t, survey.Version{SurveyID: 4523, Name: "CSI-GR", Definition: definition})
	if got := h.Ingest(t, kind, visit, customer); got.Outcome != survey.Created {
		t.Fatal(got)
	}
	return h
}

// Each send and expiry happens at its own moment, however long
// the test lets pass at once.
func TestWhatBecomesDueHappensAtItsMoment(t *testing.T) {
	t.Parallel()
	var h *surveytest.Host
	var story []string
	h = surveytest.New(&surveytest.Options{Channels: []channel.Channel{channel.Func("sms:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		story = append(story, h.Clock.Now().Format("02 15:04 ")+m.To+" "+m.Metadata["ordinal"])
		return channel.Receipt{ID: "1"}, nil
	})}})
	h.Publish(t, survey.Version{SurveyID: 1, Definition: []byte(strings.ReplaceAll(string(definition), "memory:default", "sms:test"))})
	for i := range 3 {
		to := survey.Recipient{Address: fmt.Sprintf("+49 151 2345678%d", i)}
		h.Ingest(t, kind, fmt.Sprintf(`{"wip": "%d", "dealerId": "1", "jobType": "GR"}`, i), to)
		h.Advance(t, 6*time.Hour)
	}
	h.Advance(t, 40*24*time.Hour)
	h.Sent(t, 0) // on the recorded channel
	want := []string{
		"14 05:12 +4915123456780 0", "14 11:12 +4915123456781 0", "14 17:12 +4915123456782 0",
		"15 05:12 +4915123456780 1", "15 11:12 +4915123456781 1", "15 17:12 +4915123456782 1",
	}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Error(diff)
	}
	all, _, err := h.Surveys.Support().Instances(t.Context(), "", survey.Selection{SurveyID: 1}, storage.Page{})
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	for _, i := range all {
		if i.Status != survey.StatusExpired || !i.EndedOn.Equal(i.LastSentOn.Add(30*24*time.Hour)) {
			t.Errorf("%s %v after %v", i.Status, i.EndedOn, i.LastSentOn)
		}
	}
}

// A subscriber that fails is called again at its own moments too.
func TestASubscriberIsCalledAgainAtItsMoment(t *testing.T) {
	t.Parallel()
	h := visited(t, nil)
	var calls []time.Duration
	began := h.Clock.Now()
	h.Surveys.Subscribe(survey.SubscriberFunc("tickets", func(context.Context, survey.ResponseCompleted) error {
		calls = append(calls, h.Clock.Now().Sub(began))
		if len(calls) < 3 {
			return survey.RetryAfter(2*time.Hour, errors.New("busy"))
		}
		return nil
	}))
	h.Advance(t, 0)
	link := h.Link(t, address)
	link.Submit(t, `{"rate": 3, "has-a-complaint": "yes"}`)
	h.Advance(t, 24*time.Hour)
	if diff := cmp.Diff([]time.Duration{0, 2 * time.Hour, 4 * time.Hour}, calls); diff != "" {
		t.Error(diff)
	}
	link.Dispatched(t, "tickets")
	if now := h.Clock.Now(); !now.Equal(began.Add(24 * time.Hour)) {
		t.Error(now)
	}
}

// A program with tenants, a channel and an address of its own.
func TestAHostIsSetUpAsTheProgramIs(t *testing.T) {
	t.Parallel()
	h := surveytest.New(&surveytest.Options{
		Scope: "tenant", Survey: survey.Options{SurveyURL: "https://garage.example/f?id={publicId}&t={token}"},
		Channel: notifytest.Scripted(channel.Transient("busy", 0, nil)).As("sms:twilio"),
	})
	h.Publish(t, survey.Version{SurveyID: 1, Definition: []byte(strings.ReplaceAll(string(definition), "memory:default", "sms:twilio"))})
	h.Ingest(t, kind, visit, survey.Recipient{Address: "+964 770 000 0001"})
	h.Advance(t, 0)
	h.Sent(t, 0)
	h.Advance(t, time.Hour)
	h.Sent(t, 1)
	link := h.Link(t, "+9647700000001")
	link.Is(t, survey.StatusSent)
	link.Open(t)
	link.Is(t, survey.StatusOpened)
	if got := link.Submit(t, `{"rate": 9}`); got.PublicID != link.PublicID || got.Repeated {
		t.Error(got)
	}
	if want := "https://garage.example/f?id=" + link.PublicID + "&t=" + link.Token; link.URL != want {
		t.Error(link.URL)
	}
	if again := h.Ingest(t, kind, visit, survey.Recipient{Address: "+964 770 000 0001"}); again.Outcome != survey.Skipped {
		t.Error(again)
	}
	h.Advance(t, 0)
	link.Dispatched(t) // no complaint: nobody hears of it
}
