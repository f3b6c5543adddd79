package survey_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// asVersion is survey 4523 with a definition.
func asVersion(definition string) survey.Version {
	return survey.Version{SurveyID: 4523, Name: "E2E CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(definition)}
}

// oneTrigger wants the events of a kind.
func oneTrigger(id, kind string, enabled bool) string {
	return fmt.Sprintf(`{"id": %q, "enabled": %t, "eventKind": %q, "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
		"schedule": {"initialDelay": "0d"}, "channel": "memory:default"}`, id, enabled, kind)
}

// triggersJSON is a definition with a question and those triggers.
func triggersJSON(list ...string) string {
	return `{"questions": [{"id": "rate", "type": "rating"}], "triggers": [` + strings.Join(list, ", ") + `]}`
}

// tryPublish publishes and gives the number, and "repeated" for one that was there.
func (h *host) tryPublish(v survey.Version) (string, error) {
	got, err := h.survey.Publish(h.t.Context(), v)
	if err == nil && got.Repeated {
		return fmt.Sprint(got.Number, " repeated"), nil
	}
	return fmt.Sprint(got.Number), err
}

func (h *host) wantPublished(v survey.Version, want string) {
	h.t.Helper()
	if got, err := h.tryPublish(v); got != want || err != nil {
		h.t.Errorf("published as %s, %v; want %s", got, err, want)
	}
}

// state is what is listed of survey 4523: the published and the latest version.
func (h *host) state() string {
	h.t.Helper()
	list, _, err := h.survey.Surveys(h.t.Context(), "", storage.Page{})
	if err != nil || len(list) > 1 {
		h.t.Fatal(list, err)
	}
	if len(list) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %d", list[0].PublishedVersion, list[0].LatestVersion)
}

// wips numbers the events of all tests.
var wips atomic.Int64

// matched are the triggers that make an instance for a new event.
func (h *host) matched(kind string) []string {
	h.t.Helper()
	n := wips.Add(1)
	got, err := h.survey.Ingest(h.t.Context(), survey.Batch{EventKind: kind, Items: []survey.Item{{
		Payload:   json.RawMessage(fmt.Sprintf(`{"wip": "%d", "dealerId": "1", "jobType": "GR"}`, n)),
		Recipient: survey.Recipient{Address: fmt.Sprintf("+964 770 %03d %04d", n/10000, n%10000), Locale: "ar"},
	}}})
	if err != nil {
		h.t.Fatal(err)
	}
	var out []string
	for _, i := range got.Items[0].Instances {
		if i.Outcome != survey.Created {
			h.t.Errorf("%+v", i)
		}
		out = append(out, i.TriggerID)
	}
	slices.Sort(out)
	return out
}

func (h *host) wantMatched(kind string, want ...string) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.matched(kind)); diff != "" {
		h.t.Errorf("triggers for %s (-want +got):\n%s", kind, diff)
	}
}

func TestAPublishedVersionIsUsedAndListed(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		got := h.publish(csiGR)
		if got.Number != 1 || got.Repeated || len(got.ContentHash) != 64 || got.Warnings != nil {
			h.t.Errorf("%+v", got)
		}
		h.wantMatched("service-visit-closed", "csi-gr-trigger")
		h.wantMatched("vehicle-sold")
		list, next, err := h.survey.Surveys(h.t.Context(), "", storage.Page{})
		want := []survey.Survey{{ID: 4523, Name: "E2E CSI-GR", IntegrationID: "csi-gr", PublishedVersion: 1, LatestVersion: 1, SavedOn: start}}
		if diff := cmp.Diff(want, list); diff != "" || next != "" || err != nil {
			h.t.Error(next, err, diff)
		}
		versions, next, err := h.survey.Versions(h.t.Context(), "", 4523, storage.Page{})
		wantVersions := []survey.VersionInfo{{SurveyID: 4523, Number: 1, Name: "E2E CSI-GR", IntegrationID: "csi-gr", ContentHash: got.ContentHash, PublishedOn: start}}
		if diff := cmp.Diff(wantVersions, versions); diff != "" || next != "" || err != nil {
			h.t.Error(next, err, diff)
		}
	})
}

func TestTheSameContentIsTheSameVersion(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.wantPublished(asVersion(csiGR), "1")
		h.wantPublished(asVersion(csiGR), "1 repeated")
		h.wantPublished(asVersion("  "+strings.ReplaceAll(csiGR, "\n", " ")), "1 repeated")
		renamed := asVersion(csiGR)
		renamed.Name = "CSI"
		h.wantPublished(renamed, "2")
		h.wantPublished(renamed, "2 repeated")
		h.wantPublished(asVersion(csiGR), "3") // an older version's content again is a new one
		if got := h.state(); got != "3 of 3" {
			h.t.Error(got)
		}
	})
}

func TestPublishersOfTheSameContentGetOneVersion(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		got := h.race(12, func(int) string { return csiGR })
		slices.Sort(got)
		if diff := cmp.Diff(append([]string{"1"}, slices.Repeat([]string{"1 repeated"}, 11)...), got); diff != "" {
			h.t.Error(diff)
		}
		if h.state() != "1 of 1" {
			h.t.Error(h.state())
		}
		h.wantMatched("service-visit-closed", "csi-gr-trigger")
	})
}

func TestPublishersOfDifferentContentsTakeTurns(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		got := h.race(5, func(i int) string { return triggersJSON(oneTrigger(fmt.Sprint("t", i), "visit", true)) })
		slices.Sort(got)
		if diff := cmp.Diff([]string{"1", "2", "3", "4", "5"}, got); diff != "" {
			h.t.Error(diff)
		}
		d, err := h.survey.Definition(h.t.Context(), "", 4523, 0)
		if err != nil {
			h.t.Fatal(err)
		}
		h.wantMatched("visit", d.Triggers[0].ID) // the triggers of one version, not a mixture
	})
}

// race publishes n definitions at once, each through a process of its own.
func (h *host) race(n int, definition func(i int) string) []string {
	h.t.Helper()
	got, errs := make([]string, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			process := &host{t: h.t, store: h.store, survey: survey.New(h.store, nil, nil)}
			got[i], errs[i] = process.tryPublish(asVersion(definition(i)))
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		h.t.Fatal(err)
	}
	return got
}

func TestANumberThatIsExpectedMustBeTheNext(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		as := func(number int64, definition string) survey.Version {
			v := asVersion(definition)
			v.Number = number
			return v
		}
		stale := func(v survey.Version, want string) {
			h.t.Helper()
			if _, err := h.tryPublish(v); !errors.Is(err, storage.ErrStale) || !strings.Contains(err.Error(), want) {
				h.t.Errorf("%v, want %s", err, want)
			}
		}
		stale(as(2, csiGR), "survey 4523: version 2 is not the next one, which is 1")
		if got := h.state(); got != "none" {
			h.t.Error(got)
		}
		h.wantPublished(as(1, csiGR), "1")
		h.wantPublished(as(1, csiGR), "1 repeated")
		stale(as(1, `{}`), "version 1 says something else, the next one is 2")
		h.wantPublished(as(2, csiGR), "2") // as it was asked for
		h.wantPublished(as(3, `{}`), "3")
		h.wantPublished(as(1, csiGR), "1 repeated") // a repetition that comes late undoes nothing
		h.wantMatched("service-visit-closed")
		if got := h.state(); got != "3 of 3" {
			h.t.Error(got)
		}
	})
}

func TestIngestUsesTheTriggersOfThePublishedVersionOnly(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(triggersJSON(oneTrigger("a", "visit", true), oneTrigger("b", "visit", true), oneTrigger("off", "visit", false)))
		h.wantMatched("visit", "a", "b")
		h.publish(triggersJSON(oneTrigger("b", "sale", true), oneTrigger("off", "visit", true)))
		h.wantMatched("visit", "off")
		h.wantMatched("sale", "b")
		h.publish(triggersJSON(oneTrigger("a", "visit", true), oneTrigger("b", "visit", false)))
		h.wantMatched("visit", "a")
		h.wantMatched("sale")
		h.publish(triggersJSON())
		h.wantMatched("visit")
	})
}

func TestAnUnpublishedSurveyGetsNoInstancesAndItsOwnGoOn(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		h.wantMatched("service-visit-closed", "csi-gr-trigger")
		for range 2 {
			if err := h.survey.Unpublish(h.t.Context(), "", 4523); err != nil {
				h.t.Fatal(err)
			}
		}
		h.wantMatched("service-visit-closed")
		h.drain()
		if got := len(h.sent()); got != 1 {
			h.t.Errorf("%d links went out", got)
		}
		if got := h.state(); got != "0 of 1" {
			h.t.Error(got)
		}
		if _, err := h.survey.Definition(h.t.Context(), "", 4523, 0); !errors.Is(err, storage.ErrNotFound) {
			h.t.Error(err)
		}
		h.wantPublished(asVersion(csiGR), "1 repeated")
		h.wantMatched("service-visit-closed", "csi-gr-trigger")
		h.wantPublished(asVersion(csiGR), "1 repeated")
		if err := h.survey.Unpublish(h.t.Context(), "", 9); !errors.Is(err, storage.ErrNotFound) {
			h.t.Error(err)
		}
	})
}

func TestARefusedVersionLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		bad := survey.Version{Scope: "\x00any", SurveyID: 0, Number: -1, Name: "a\nb", IntegrationID: "\xff", BusinessUnit: strings.Repeat("x", 201), Definition: json.RawMessage(`{"title": 5}`)}
		_, err := h.survey.Publish(h.t.Context(), bad)
		want := []string{
			"SurveyID: is 0, not above zero", "Number: is -1, below zero", "Scope: holds the control character U+0000", "Name: holds the control character U+000A",
			"IntegrationID: is not valid UTF-8", "BusinessUnit: has 201 characters, more than 200", "title: is neither a text nor an object of texts by locale",
		}
		var refused *form.DefinitionError
		if !errors.As(err, &refused) {
			h.t.Fatal(err)
		}
		var got []string
		for _, f := range refused.Faults {
			got = append(got, f.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			h.t.Error(diff)
		}
		if got := h.state(); got != "none" {
			h.t.Error(got)
		}
	})
}

func TestPublishingIsPartOfTheHostsTransaction(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		boom := errors.New("boom")
		err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
			bound := h.survey.WithTx(tx)
			if _, err := bound.Publish(h.t.Context(), asVersion(`{"title": 5}`)); err == nil {
				h.t.Error("published")
			}
			for _, repeated := range []bool{false, true} {
				if got, err := bound.Publish(h.t.Context(), asVersion(csiGR)); err != nil || got.Number != 1 || got.Repeated != repeated {
					h.t.Errorf("%+v %v", got, err)
				}
			}
			if d, err := bound.Definition(h.t.Context(), "", 4523, 1); err != nil || len(d.Triggers) != 1 {
				h.t.Errorf("%+v %v", d, err)
			}
			return boom
		})
		if !errors.Is(err, boom) {
			h.t.Fatal(err)
		}
		if got := h.state(); got != "none" {
			h.t.Error(got)
		}
		h.wantMatched("service-visit-closed")
		h.clock.Add(time.Minute)
		h.wantPublished(asVersion(`{}`), "1")
		if d, err := h.survey.Definition(h.t.Context(), "", 4523, 1); err != nil || len(d.Triggers) != 0 {
			h.t.Errorf("%+v %v", d, err)
		}
	})
}
