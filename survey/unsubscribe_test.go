package survey_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/survey"
)

// mailing has the host send mails that say how to unsubscribe.
func (h *host) mailing(opts survey.Options) {
	opts.SurveyURL, opts.UnsubscribeURL = "https://host.example/s/{token}", "https://host.example/s/{token}/unsubscribe"
	h.sends.HashKey = []byte("0123456789abcdef0123456789abcdef")
	h.use(opts, channel.Func("email:test", h.send), channel.Func("sms:test", h.send))
}

// mailed is a survey with a reminder, by a channel.
func mailed(channel string, more ...string) string {
	return strings.ReplaceAll(definition("0d", []string{"1d"}, more...), "memory:default", channel)
}

// tell tells of a visit of somebody.
func (h *host) tell(wip string, who survey.Recipient) string {
	h.t.Helper()
	got, err := h.survey.Ingest(h.t.Context(), survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{
		{Payload: []byte(`{"wip":"` + wip + `"}`), Recipient: who},
	}})
	if err != nil || got.Created != 1 {
		h.t.Fatal(got, err)
	}
	return got.Items[0].Instances[0].PublicID
}

var ann = survey.Recipient{Address: "Ann@Host.example", Locale: "de", CustomerRef: "cust-ann"}

// A customer who wants no more gets neither the reminder nor the next link, by mail: by
// SMS he does. It holds for an expired link, and for somebody who is known by an address
// only.
func TestACustomerUnsubscribes(t *testing.T) {
	for name, who := range map[string]survey.Recipient{
		"by reference": ann, "by address": {Address: "Ann@Host.example", Locale: "de"},
	} {
		t.Run(name, func(t *testing.T) {
			eachHost(t, nil, func(h *host) {
				t := h.t
				h.mailing(survey.Options{})
				h.publish(mailed("email:test"))
				id := h.tell("1", who)
				h.drain()
				sent := h.sent()
				token := tokenOf(linkIn(sent[0]))
				if want := "https://host.example/s/" + token + "/unsubscribe"; sent[0].UnsubscribeURL != want || !strings.Contains(sent[0].Text, want) || !strings.Contains(sent[0].HTML, want) {
					t.Fatalf("the mail says %q, and\n%s\n%s", sent[0].UnsubscribeURL, sent[0].Text, sent[0].HTML)
				}
				if locale, err := h.survey.CheckUnsubscribe(t.Context(), token); locale != "de" || err != nil {
					t.Fatal(locale, err)
				}
				for range 2 {
					if err := h.survey.Unsubscribe(t.Context(), token); err != nil {
						t.Fatal(err)
					}
				}
				h.at(2 * day)
				if got := h.log(id); len(h.sent()) != 1 || !slices.Equal(got, []string{"0/1 delivered", "1/0 skipped OptedOut"}) {
					t.Fatalf("%d sent, %q", len(h.sent()), got)
				}
				next := h.tell("2", who)
				h.drain()
				if got := h.log(next); !slices.Equal(got, []string{"0/0 skipped OptedOut"}) {
					t.Fatalf("the next link: %q", got)
				}
				h.publish(mailed("sms:test"))
				h.tell("3", survey.Recipient{Address: "+353871234567", CustomerRef: who.CustomerRef})
				h.drain()
				if sent := h.sent(); len(sent) != 2 || sent[1].UnsubscribeURL != "" || strings.Contains(sent[1].Text, "unsubscribe") {
					t.Fatalf("by SMS: %+v", sent)
				}
			})
		})
	}
}

// The process that serves the page may have another key than those that send, or none:
// then nothing is noted under a name by which nobody asks. Whoever has a reference is known
// without the key.
func TestAnUnsubscribeIsNotedWhereGatesAsk(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		t := h.t
		h.mailing(survey.Options{})
		h.publish(mailed("email:test"))
		stranger := survey.Recipient{Address: "bob@host.example"}
		h.tell("1", stranger)
		h.tell("2", ann)
		h.drain()
		token := map[string]string{}
		for _, m := range h.sent() {
			token[m.To] = tokenOf(linkIn(m))
		}
		for _, key := range [][]byte{nil, []byte("another key of thirty-two bytes!")} {
			web := survey.New(h.store, notify.New(h.store, &notify.Options{HashKey: key}), &survey.Options{SurveyURL: "https://host.example/s/{token}"})
			if err := web.Unsubscribe(t.Context(), token["bob@host.example"]); !errors.Is(err, notify.ErrHashKey) {
				t.Errorf("with the key %q: %v", key, err)
			}
			if err := web.Unsubscribe(t.Context(), token["Ann@host.example"]); err != nil {
				t.Errorf("with the key %q: %v", key, err)
			}
		}
		next := h.tell("3", ann)
		h.drain()
		if got := h.log(next); !slices.Equal(got, []string{"0/0 skipped OptedOut"}) {
			t.Errorf("the next link: %q", got)
		}
	})
}

// Who has left by a link that knew the reference has left the address too: an event that
// names the address only, in any spelling, asks nobody.
func TestWhoHasLeftIsKnownByTheAddress(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		t := h.t
		h.mailing(survey.Options{})
		h.publish(mailed("email:test"))
		h.tell("1", ann)
		h.drain()
		if err := h.survey.Unsubscribe(t.Context(), tokenOf(linkIn(h.sent()[0]))); err != nil {
			t.Fatal(err)
		}
		for n, address := range []string{"Ann@Host.example", "ann@HOST.example"} {
			next := h.tell(strconv.Itoa(2+n), survey.Recipient{Address: address})
			h.drain()
			if got := h.log(next); !slices.Equal(got, []string{"0/0 skipped OptedOut"}) {
				t.Errorf("%s: %q", address, got)
			}
		}
		kept := h.tell("4", survey.Recipient{Address: "ann@host.example", CustomerRef: "cust-bob"})
		h.drain()
		if got := h.log(kept); !slices.Equal(got, []string{"0/1 delivered"}) {
			t.Errorf("somebody else at that address: %q", got)
		}
	})
}

// A customer leaves the group that surveys belong to, and is asked by it.
func TestAGroupIsLeft(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		t := h.t
		h.mailing(survey.Options{Group: "feedback"})
		n := notify.New(h.store, &notify.Options{Groups: []notify.Group{{Name: "feedback"}}})
		h.publish(mailed("email:test"))
		h.tell("1", ann)
		h.drain()
		if err := h.survey.Unsubscribe(t.Context(), tokenOf(linkIn(h.sent()[0]))); err != nil {
			t.Fatal(err)
		}
		known, err := n.Contacts().Preferences(t.Context(), "", "cust-ann")
		if err != nil || len(known) != 1 || known[0].Group != "feedback" || known[0].Type != "" || known[0].Method != "email" || !known[0].OptedOut {
			t.Fatalf("%+v, %v", known, err)
		}
		known[0].OptedOut = false // says the customer on the host's own page
		if err := n.Contacts().SetPreferences(t.Context(), known[0]); err != nil {
			t.Fatal(err)
		}
		h.tell("2", ann)
		h.drain()
		if got := len(h.sent()); got != 2 {
			t.Fatalf("%d links", got)
		}
	})
}

// Whoever is erased, and a token that is none, cannot unsubscribe: nothing is written.
func TestNobodyUnsubscribesForAnother(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		t := h.t
		h.mailing(survey.Options{})
		h.publish(mailed("email:test"))
		h.tell("1", ann)
		h.drain()
		token := tokenOf(linkIn(h.sent()[0]))
		if err := h.erase("", "cust-ann"); err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{token, "no-such-token", ""} {
			if err := h.survey.Unsubscribe(t.Context(), token); !errors.Is(err, survey.ErrNoSurvey) {
				t.Errorf("%q: %v", token, err)
			}
			if _, err := h.survey.CheckUnsubscribe(t.Context(), token); !errors.Is(err, survey.ErrNoSurvey) {
				t.Errorf("%q: %v", token, err)
			}
		}
		known, err := notify.New(h.store, nil).Contacts().Preferences(context.Background(), "", "cust-ann")
		if err != nil || len(known) != 0 {
			t.Fatalf("%+v, %v", known, err)
		}
	})
}

// A group that has to be asked for hears of a survey only if its customer has asked.
func TestASurveyOfAGroupThatHasToBeAskedFor(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		t := h.t
		h.sends.Groups = []notify.Group{{Name: "feedback", OptIn: true}}
		h.mailing(survey.Options{Group: "feedback"})
		h.publish(mailed("email:test"))
		silent := h.tell("1", survey.Recipient{Address: "sam@host.example", CustomerRef: "cust-sam"})
		wants := notify.Preference{RecipientRef: ann.CustomerRef, Group: "feedback", Method: "email"}
		if err := notify.New(h.store, nil).Contacts().SetPreferences(t.Context(), wants); err != nil {
			t.Fatal(err)
		}
		h.tell("2", ann)
		h.drain()
		if sent := h.sent(); len(sent) != 1 || !strings.EqualFold(sent[0].To, ann.Address) {
			t.Errorf("sent %v", sent)
		}
		if got := h.log(silent); !slices.Equal(got, []string{"0/0 skipped NoConsent"}) {
			t.Errorf("%q", got)
		}
	})
}
