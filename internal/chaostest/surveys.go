package chaostest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// visit is a survey whose link goes out an hour after its event, and whose reminder six
// hours after the link went out.
const visit = `{
	"title": {"en": "Your visit"},
	"questions": [{"id": "rate", "type": "rating", "min": 1, "max": 10, "required": true}],
	"triggers": [{
		"id": "visit", "enabled": true, "eventKind": "visit-closed", "dedupRecipe": ["candidate.visit"],
		"schedule": {"initialDelay": "1h", "reminders": ["6h"]}, "channel": "` + channelKey + `"
	}]
}`

const remindAfter = 6 * time.Hour

// asking is a run of events, each of which has a link and a reminder.
type asking struct {
	*arena
	events int
}

// Surveys has links and their reminders flow while the workers that make and send them are
// killed at random moments, some of them in the middle of calls. Each worker begins with
// telling of all events. Each event has one link, which goes out once and is reminded of
// once, six hours after it went out; no doubt is left, since this provider can tell what it
// has accepted.
func Surveys(t *testing.T, d Driver) {
	a := &asking{arena: newArena(t, d), events: 600}
	kills := 16
	if testlevel.Has(t, testlevel.Nightly) {
		a.events, kills = 2000, 40
	}
	a.on(func(ctx context.Context, h *Host) error {
		surveys, _ := asks(h.Store, a.provider.URL)
		_, err := surveys.Publish(ctx, survey.Version{SurveyID: 1, Name: "Your visit", IntegrationID: "visit", Definition: json.RawMessage(visit)})
		return err
	})
	for a.kills < kills {
		a.round("surveys", a.cut, a.told())
		a.offset += pastEverything
	}
	flowing := len(a.provider.log())
	for range 60 {
		a.release()
		if err := a.start("surveysdrain", a.told()).Wait(); err != nil {
			t.Fatal(err)
		}
		if a.query("SELECT 'open', count(*) FROM survey_instance WHERE next_send_on IS NOT NULL")["open"] == 0 {
			break
		}
		a.offset += pastEverything
	}
	if flowing >= 2*a.events {
		t.Errorf("everything was sent before the last kill: the kills proved nothing")
	}
	t.Logf("%s: %d kills, %d links, %d calls before the last kill, %d in all, %d rows released by support",
		d.Name, a.kills, a.events, flowing, len(a.provider.log()), a.released)
	a.check()
}

const eventsVariable = "BELFRY_CHAOS_EVENTS"

// told says how many events a worker tells of.
func (a *asking) told() string { return eventsVariable + "=" + strconv.Itoa(a.events) }

// release is what support does about messages whose workers died over them.
func (a *asking) release() {
	a.on(func(ctx context.Context, h *Host) error {
		_, out := asks(h.Store, a.provider.URL)
		for key := range a.query("SELECT key, 1 FROM outgoing_message WHERE is_on_support_hold") {
			by := notify.By{Actor: "test", Reason: "its workers were killed"}
			if err := out.Support().Release(ctx, "", notify.ArtifactOutgoingMessage, key, by); err != nil {
				return err
			}
			a.released++
		}
		return nil
	})
}

// check compares the database with what the provider saw.
func (a *asking) check() {
	calls, people := map[string]int{}, map[string]int{}
	for _, c := range a.provider.log() {
		calls[c.ID]++
		people[c.To]++
	}
	if len(people) != a.events || len(calls) != 2*a.events || len(a.provider.log()) != 2*a.events {
		a.t.Errorf("%d calls for %d messages to %d people, want %d to %d", len(a.provider.log()), len(calls), len(people), 2*a.events, a.events)
	}
	for what, want := range map[string]map[string]int{
		"SELECT status, count(*) FROM survey_instance GROUP BY status":                                {"Sent": a.events},
		"SELECT status, count(*) FROM outgoing_message GROUP BY status":                               {"SentToProvider": 2 * a.events},
		"SELECT ordinal, count(*) FROM survey_delivery WHERE status = 'delivered' GROUP BY ordinal":   {"0": a.events, "1": a.events},
		"SELECT 'open', count(*) FROM survey_instance WHERE in_doubt OR queued OR is_on_support_hold": {"open": 0},
	} {
		if diff := cmp.Diff(want, a.query(what)); diff != "" {
			a.t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	a.on(func(ctx context.Context, h *Host) error {
		surveys, _ := asks(h.Store, a.provider.URL)
		for id := range a.query("SELECT public_id, 1 FROM survey_instance") {
			e, err := surveys.Support().Explain(ctx, "", id)
			if err != nil {
				return err
			}
			sent := map[int]survey.Delivery{}
			for _, d := range e.Deliveries {
				if d.Status == survey.DeliveryDelivered {
					sent[d.Ordinal] = d
				}
			}
			if between := sent[1].StartedOn.Sub(sent[0].StartedOn); between < remindAfter {
				a.t.Errorf("%s was reminded of %v after it went out:\n%v", id, between, e)
			}
		}
		return nil
	})
}

// asks is the host's program with surveys, over a provider that can be asked.
func asks(store storage.Store, provider string) (*survey.Service, *notify.Notifier) {
	out := notify.New(store, nil, &client{url: provider})
	return survey.New(store, out, &survey.Options{SurveyURL: "https://school.example/s/{token}", LinkKey: []byte("0123456789abcdef0123456789abcdef")}), out
}

// tell tells of all events, some at a time, as a host does that begins anew after a crash.
func tell(ctx context.Context, surveys *survey.Service) error {
	events, err := strconv.Atoi(os.Getenv(eventsVariable))
	for first := 0; first < events && err == nil; first += 20 {
		batch := survey.Batch{EventKind: "visit-closed"}
		for i := first; i < min(first+20, events); i++ {
			batch.Items = append(batch.Items, survey.Item{
				Payload:   json.RawMessage(fmt.Sprintf(`{"visit": "%d"}`, i)),
				Recipient: survey.Recipient{Address: fmt.Sprintf("p%05d@example.com", i)},
			})
		}
		_, err = surveys.Ingest(ctx, batch)
	}
	return err
}
