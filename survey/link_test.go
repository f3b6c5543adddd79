package survey_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

var (
	hostsKey = bytes.Repeat([]byte{7}, 32)
	newKey   = bytes.Repeat([]byte{8}, 40)
)

// token is the secret in a link of the test hosts' form.
func token(t testing.TB, link string) string {
	t.Helper()
	rest, found := strings.CutPrefix(link, "https://host.example/s/")
	token, _, alsoFound := strings.Cut(rest, "?i=")
	if !found || !alsoFound {
		t.Fatalf("the link is %q", link)
	}
	return token
}

// The link is made anew each time, from the key and the public id; the store has
// only its hash.
func TestALinkIsMadeOfTheHostsKey(t *testing.T) {
	t.Parallel()
	eachHost(t, &survey.Options{LinkKey: hostsKey}, func(h *host) {
		h.publish(csiGR)
		id := h.ingest().Items[0].Instances[0].PublicID
		want := "https://host.example/s/" + keys.NewLinkKey(hostsKey).Token(id) + "?i=" + id
		if got := h.link(id); got != want {
			h.t.Errorf("got %s, want %s", got, want)
		}
		row := h.stored(id)
		sum := sha256.Sum256([]byte(keys.NewLinkKey(hostsKey).Token(id)))
		if row.LinkKey != keys.NewLinkKey(hostsKey).ID() || row.LinkHash != hex.EncodeToString(sum[:]) {
			h.t.Errorf("the row has %s %s", row.LinkKey, row.LinkHash)
		}
		if text := fmt.Sprintf("%+v", row); strings.Contains(text, token(h.t, want)) {
			h.t.Error("the row holds the token")
		}
	})
}

// A reminder sixty days later carries the link of the first send, whatever became
// of the key in between.
func TestALinkOutlivesTheChangeOfItsKey(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		links := map[string]string{}
		steps := []*survey.Options{
			nil,                 // the store's key
			{LinkKey: hostsKey}, // the host takes over
			{LinkKey: newKey, OldLinkKeys: [][]byte{hostsKey}}, // and changes its own
		}
		for i, o := range steps {
			h.survey = h.service(o)
			id := h.ingest(fmt.Sprintf(`{"jobType":"GR","wip":%d}`, i)).Items[0].Instances[0].PublicID
			links[id] = h.link(id)
			for id, link := range links {
				if got := h.link(id); got != link {
					h.t.Errorf("step %d: %s became %s", i, link, got)
				}
			}
		}
	})
}

func TestALinkWhoseKeyIsGone(t *testing.T) {
	t.Parallel()
	eachHost(t, &survey.Options{LinkKey: hostsKey}, func(h *host) {
		h.publish(csiGR)
		id := h.ingest().Items[0].Instances[0].PublicID
		for name, o := range map[string]*survey.Options{"another key": {LinkKey: newKey}, "the store's key": nil} {
			_, err := h.service(o).Link(h.t.Context(), "", id)
			if !errors.Is(err, survey.ErrLinkKey) || !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), keys.NewLinkKey(hostsKey).ID()) {
				h.t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Processes that make the store's key at once make one, and tenants have their own.
func TestTheStoreHasOneLinkKeyForATenant(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		for _, scope := range []survey.Scope{"north", "south"} {
			if _, err := h.survey.Publish(h.t.Context(), survey.Version{Scope: scope, SurveyID: 4523, Name: "CSI", IntegrationID: "csi-gr", Definition: []byte(csiGR)}); err != nil {
				h.t.Fatal(err)
			}
		}
		const many = 8
		var calls sync.WaitGroup
		got := map[survey.Scope][]survey.IngestReport{"north": make([]survey.IngestReport, many), "south": make([]survey.IngestReport, many)}
		for scope, reports := range got {
			for i := range many {
				process, b := h.service(nil), visits(i, 1)
				b.Scope = scope
				calls.Go(func() {
					var err error
					if reports[i], err = process.Ingest(h.t.Context(), b); err != nil {
						h.t.Error(err)
					}
				})
			}
		}
		calls.Wait()
		ids := map[string]survey.Scope{}
		for scope, reports := range got {
			for _, r := range reports {
				id := r.Items[0].Instances[0].PublicID
				row, _, err := h.survey.Support().Instance(h.t.Context(), scope, id)
				if err != nil {
					h.t.Fatal(err)
				}
				ids[row.LinkKey] = scope
				if _, err := h.survey.Link(h.t.Context(), scope, id); err != nil {
					h.t.Error(err)
				}
			}
		}
		if len(ids) != 2 {
			h.t.Errorf("link keys %v, want one for each tenant", ids)
		}
	})
}

func TestALinkNeedsItsInstance(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		id := h.ingest().Items[0].Instances[0].PublicID
		if _, err := h.survey.Link(h.t.Context(), "", "8f3a1c4e-0b1d-4c2e-9f3a-5b6c7d8e9f00"); !errors.Is(err, storage.ErrNotFound) {
			h.t.Errorf("an unknown one: %v", err)
		}
		if _, err := survey.New(h.store, nil, nil).Link(h.t.Context(), "", id); err == nil || !strings.Contains(err.Error(), "Options.SurveyURL is not set") {
			h.t.Errorf("without an address: %v", err)
		}
	})
}

// New panics on what only a programmer can get wrong.
func TestNewRefusesOptionsThatMakeNoLinks(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	mail := channel.Func("email:test", (&host{}).send)
	for want, o := range map[string]*survey.Options{
		`SurveyURL "": it does not have {token}`:            nil,
		"it does not have {token}":                          {SurveyURL: "https://host.example/s/{publicId}"},
		"it is not an absolute http or https address":       {SurveyURL: "/s/{token}"},
		"it is not an absolute http or https address: ":     {SurveyURL: "javascript:{token}"},
		"a brace that is not part of {token} or {publicId}": {SurveyURL: "https://host.example/s/{token}?{id}"},
		"invalid control character":                         {SurveyURL: "https://host.example/s/{token}\n"},
		"a link key of 31 bytes":                            {SurveyURL: "https://host.example/s/{token}", LinkKey: hostsKey[:31]},
		"a link key of 5 bytes":                             {SurveyURL: "https://host.example/s/{token}", OldLinkKeys: [][]byte{hostsKey[:5]}},
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, strings.TrimSuffix(want, ": ")) {
					t.Errorf("%+v: %s, want %q", o, text, want)
				}
			}()
			survey.New(store, notify.New(store, nil, mail), o)
		}()
	}
	survey.New(store, nil, nil) // ingests, and sends nothing
	survey.New(store, notify.New(store, nil, mail), &survey.Options{SurveyURL: "http://localhost:8080/form#{token}", LinkKey: newKey})
}

// A token says nothing about the moment or the order in which it was made, and no
// two are equal.
func TestTokensAreDistinct(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		h.clock.Add(time.Hour)
		seen := map[string]bool{}
		for _, item := range h.take(visits(0, 50)).Items {
			seen[token(h.t, h.link(item.Instances[0].PublicID))[8:]] = true
		}
		if len(seen) != 50 {
			h.t.Errorf("%d tokens for 50 instances", len(seen))
		}
	})
}

var hashKeyOfHost = []byte("0123456789abcdef0123456789abcdef")

// One key knows all recipients of a database: with another no message is made, and the send
// waits for the right one without a try.
func TestWithAnotherHashKeyNoLinkGoesOut(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		before := h.ingest().Items[0].Instances[0].PublicID
		h.drain()
		h.status(before, survey.StatusSent)
		h.sends.HashKey = hashKeyOfHost
		h.use(survey.Options{}, h.memory())
		id := h.ingest(strings.Replace(visit, "40956", "40957", 1)).Items[0].Instances[0].PublicID
		if _, err := h.survey.PollOnce(h.t.Context(), 10); !errors.Is(err, notify.ErrHashKey) {
			h.t.Errorf("nobody was told: %v", err)
		}
		if i := h.status(id, survey.StatusPending); len(h.sent()) != 1 || i.ReasonCode != reasons.WrongHashKey || i.Tries != 0 {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
		h.sends.HashKey = nil
		h.use(survey.Options{}, h.memory())
		h.at(time.Minute)
		h.status(id, survey.StatusSent)
	})
}
