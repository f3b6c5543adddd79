package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// routed is a survey of a channel and a subscriber.
func routed(channel, subscriber string) string {
	return strings.ReplaceAll(definition("0d", nil, `"subscribers": [{"key": "`+subscriber+`"}]`), "memory:default", channel)
}

// A misspelt channel or subscriber is told when it is published, by a process that has
// others, and not where another process may have it.
func TestAMisspeltKeyIsToldAtPublish(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		t := h.t
		tickets := survey.SubscriberFunc("tickets", func(context.Context, survey.ResponseCompleted) error { return nil })
		publish := func(definition string, elsewhere bool, channels ...channel.Channel) (faults []string) {
			h.use(survey.Options{Elsewhere: elsewhere, ExpectedSubscribers: []string{"bi"}}, channels...)
			h.survey.Subscribe(tickets)
			_, err := h.survey.Publish(t.Context(), survey.Version{SurveyID: 4523, Name: "n", IntegrationID: "i", Definition: json.RawMessage(definition)})
			var wrong *form.DefinitionError
			if errors.As(err, &wrong) {
				for _, f := range wrong.Faults {
					faults = append(faults, f.Path)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			return faults
		}
		for _, c := range []struct {
			channel, subscriber string
			elsewhere, none     bool
			want                string
		}{
			{"memory:default", "tickets", false, false, ""},
			{"memory:default", "bi", false, false, ""},
			{"memory:other", "tickets", false, false, "triggers[0].channel"},
			{"memory:default", "ticket", false, false, "triggers[0].subscribers[0].key"},
			{"memory:other", "ticket", false, false, "triggers[0].channel triggers[0].subscribers[0].key"},
			{"memory:other", "ticket", true, false, ""},
			{"memory:other", "tickets", false, true, ""},
		} {
			channels := []channel.Channel{h.memory()}
			if c.none {
				channels = nil
			}
			if got := strings.Join(publish(routed(c.channel, c.subscriber), c.elsewhere, channels...), " "); got != c.want {
				t.Errorf("%+v: %q", c, got)
			}
		}
		off := strings.Replace(routed("memory:other", "ticket"), `"enabled": true`, `"enabled": false`, 1)
		if got := publish(off, false, h.memory()); len(got) > 0 {
			t.Errorf("a trigger that is off: %q", got)
		}
	})
}

// A strict recipe fails an event without one of its values, and says where.
func TestAStrictRecipeWantsItsValues(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		t := h.t
		h.publish(definition("0d", nil, `"dedupStrict": true`))
		got := h.ingest(`{"wip":"1"}`, `{"WIP":"2"}`, `{"wip":null}`, `{"wip":""}`)
		if got.Created != 2 || got.Failed != 2 {
			t.Fatalf("%+v", got)
		}
		if why := got.Items[1].Instances[0].Reason; why != "dedupRecipe: candidate.wip: is not there, and the recipe is strict" {
			t.Fatal(why)
		}
	})
}

// A recipient's zone decides about quiet hours, is what texts tell the time in, and has
// to be one.
func TestARecipientHasAZone(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		t := h.t
		h.sends.Gates = gate.New(h.store, &gate.Options{Window: &gate.Window{From: "09:00", To: "20:00", Zone: "UTC"}})
		h.use(survey.Options{}, h.memory())
		h.publish(strings.Replace(definition("0d", nil), `"triggers"`,
			`"messages": [{"ordinal": 0, "text": "At {{.TriggeredOn.Format \"15:04\"}}: {{.URL}}"}], "triggers"`, 1))
		id := h.tell("1", survey.Recipient{Address: "+81312345678", Zone: "Asia/Tokyo"}) // 14:12 there, 05:12 in UTC
		late := h.tell("2", survey.Recipient{Address: "+353871234567", Zone: "Europe/Dublin"})
		h.drain()
		if sent := h.sent(); len(sent) != 1 || !strings.HasPrefix(sent[0].Text, "At 14:12: ") {
			t.Fatalf("%+v", sent)
		}
		if got := h.status(id, survey.StatusSent).RecipientZone; got != "Asia/Tokyo" {
			t.Fatal(got)
		}
		h.at(2*time.Hour + 47*time.Minute) // 08:59 in Dublin
		h.status(late, survey.StatusPending)
		h.at(2*time.Hour + 58*time.Minute) // they begin over ten minutes
		h.status(late, survey.StatusSent)
		for _, zone := range []string{"Local", "Europe/Dublim", "../etc/passwd", "+01:00", "localtime", "posixrules", "right/Europe/Dublin", "posix/UTC"} {
			got, err := h.survey.Ingest(t.Context(), survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{
				{Payload: []byte(`{"wip":"3"}`), Recipient: survey.Recipient{Address: "a", Zone: zone}},
			}})
			if err != nil || got.Failed != 1 || got.Items[0].Reason != "recipient.zone: is not an IANA time zone, such as Europe/Dublin" {
				t.Errorf("%s: %+v, %v", zone, got, err)
			}
		}
	})
}
