package survey_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

// documentsHash is that of the document's event for the document's recipe.
const documentsHash = "6383108901bdd1b187b55f88d5c3ddce0670dfe24a066f34655538f1d4564efa"

// documentsCustomer is the recipient of the document's event.
var documentsCustomer = survey.Recipient{Address: "+964 770 000 0001", Locale: "ar", CustomerRef: "cust-123"}

// batch has the payloads as events of the document's customer.
func batch(payloads ...string) survey.Batch {
	b := survey.Batch{EventKind: "service-visit-closed"}
	for _, p := range payloads {
		b.Items = append(b.Items, survey.Item{Payload: json.RawMessage(p), Recipient: documentsCustomer})
	}
	return b
}

// take ingests a batch.
func (h *host) take(b survey.Batch) survey.IngestReport {
	h.t.Helper()
	got, err := h.survey.Ingest(h.t.Context(), b)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

// instance reads an instance of the only tenant.
func (h *host) instance(publicID string) survey.Instance {
	h.t.Helper()
	got, _, err := h.survey.Support().Instance(h.t.Context(), "", publicID)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

// all lists the instances of the document's survey.
func (h *host) all() []survey.Instance {
	h.t.Helper()
	got, _, err := h.survey.Support().Instances(h.t.Context(), "", survey.Selection{SurveyID: 4523}, storage.Page{})
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

// outcomes are those of the items of a report.
func outcomes(r survey.IngestReport) (all []survey.Outcome) {
	for _, i := range r.Items {
		all = append(all, i.Outcome)
	}
	return all
}

// with replaces a text of the document's survey, which has to have it.
func with(t testing.TB, replace ...string) string {
	t.Helper()
	definition := csiGR
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(definition, replace[i]) {
			t.Fatalf("the definition has no %s", replace[i])
		}
		definition = strings.ReplaceAll(definition, replace[i], replace[i+1])
	}
	return definition
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// The worked example of (Triggers & Scheduler, "Step 5 — the SurveyInstance row
// after INSERT").
func TestTheDocumentsEventMakesTheDocumentsRow(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		id := h.ingest().Items[0].Instances[0].PublicID
		if !uuid.MatchString(id) {
			h.t.Errorf("the public id is %q", id)
		}
		want := survey.InstanceRow{
			Due:      driver.Due{Record: storage.Record{Key: "survey:4523:csi-gr-trigger:" + documentsHash, Kind: survey.NotificationType, Status: survey.StatusPending, Version: 1}, DueOn: start},
			PublicID: id, SurveyID: 4523, SurveyVersion: 1, TriggerID: "csi-gr-trigger",
			TriggeredOn: start, TriggeredBy: "event:service-visit-closed", Metadata: json.RawMessage(visit), CustomerRef: "cust-123",
			Channel: "memory:default", RecipientAddress: "+964 770 000 0001", RecipientLocale: "ar", UniqueHash: documentsHash, CreatedOn: start,
			NextSendOn: start, RemindersRemaining: 1,
		}
		got := *h.stored(id)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(survey.InstanceRow{}, "ID", "LinkKey", "LinkHash")); diff != "" {
			h.t.Error(diff)
		}
	})
}

// The response of (Triggers & Scheduler, "Step 6 — the response"), to the byte.
func TestTheDocumentsResponse(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		first := h.ingest()
		id := first.Items[0].Instances[0].PublicID
		for _, c := range []struct {
			report survey.IngestReport
			want   string
		}{
			{first, `{"created":1,"skipped":0,"failed":0,"items":[{"outcome":"Created","instances":[{"surveyId":4523,"triggerId":"csi-gr-trigger","publicId":"` + id + `"}]}]}`},
			{h.ingest(), `{"created":0,"skipped":1,"failed":0,"items":[{"outcome":"Skipped","instances":[{"surveyId":4523,"triggerId":"csi-gr-trigger","publicId":"` + id + `"}]}]}`},
			{h.ingest(`{"jobType":"PM"}`), `{"created":0,"skipped":0,"failed":0,"noMatch":1,"items":[{"outcome":"NoMatch","instances":[]}]}`},
			{h.ingest(`[]`), `{"created":0,"skipped":0,"failed":1,"items":[{"outcome":"Failed","instances":[],"reason":"payload: is not a JSON object"}]}`},
			{h.take(survey.Batch{EventKind: "x"}), `{"created":0,"skipped":0,"failed":0,"items":[]}`},
		} {
			got, err := json.Marshal(c.report)
			if err != nil || string(got) != c.want {
				h.t.Errorf("%v\n got %s\nwant %s", err, got, c.want)
			}
		}
	})
}

// A report of one item with several outcomes says which instance had which.
func TestOutcomesOfInstancesThatDifferFromTheItems(t *testing.T) {
	t.Parallel()
	two := with(t, `"triggers": [{`, `"triggers": [{"id": "second", "enabled": true, "eventKind": "service-visit-closed",
		"dedupRecipe": ["templateId", "recipient.address", "candidate.lines"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}, {`)
	eachHost(t, nil, func(h *host) {
		h.publish(two)
		report := h.ingest(`{"jobType":"GR","dealerId":"1","wip":"1","lines":[1]}`)
		got, err := json.Marshal(report)
		want := `{"created":0,"skipped":0,"failed":1,"items":[{"outcome":"Failed","instances":[` +
			`{"surveyId":4523,"triggerId":"csi-gr-trigger","publicId":"` + report.Items[0].Instances[0].PublicID + `","outcome":"Created"},` +
			`{"surveyId":4523,"triggerId":"second","reason":"dedupRecipe: candidate.lines: is an array, which has no text"}]}]}`
		if err != nil || string(got) != want {
			h.t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
		if n := len(h.all()); n != 1 {
			h.t.Errorf("%d instances, want that of the trigger that could be served", n)
		}
	})
}

// Told twice in one batch, twice in two, and by two processes: one instance.
func TestAnEventIsSkippedWithTheOriginalsId(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		other := strings.Replace(visit, "40956", "40957", 1)
		first := h.take(batch(visit, other, visit, visit))
		want := []survey.Outcome{survey.Created, survey.Created, survey.Skipped, survey.Skipped}
		if diff := cmp.Diff(want, outcomes(first)); diff != "" {
			h.t.Error("one batch:", diff)
		}
		id := first.Items[0].Instances[0].PublicID
		again := h.take(batch(other, visit))
		for i, r := range []survey.ItemReport{first.Items[2], first.Items[3], again.Items[1]} {
			if got := r.Instances[0].PublicID; r.Outcome != survey.Skipped || got != id {
				h.t.Errorf("repeat %d: %s as %s, want the id of the original %s", i, r.Outcome, got, id)
			}
		}
		if first.Created != 2 || first.Skipped != 2 || again.Skipped != 2 || len(h.all()) != 2 {
			h.t.Errorf("%+v, %+v, %d instances", first, again, len(h.all()))
		}
	})
}

// What one item has wrong with it stops no other.
func TestABadItemFailsAlone(t *testing.T) {
	t.Parallel()
	address := func(r survey.Recipient) survey.Item {
		return survey.Item{Payload: json.RawMessage(visit), Recipient: r}
	}
	payload := func(p string) survey.Item {
		return survey.Item{Payload: json.RawMessage(p), Recipient: documentsCustomer}
	}
	bad := []struct {
		item   survey.Item
		reason string
	}{
		{payload(``), "payload: is not valid JSON"},
		{payload(`null`), "payload: is not a JSON object"},
		{payload(`{"wip":1}{}`), "payload: is not valid JSON"},
		{payload("{\"wip\":\"\xff\"}"), "payload: is not valid UTF-8"},
		{payload(`{"wip":1,"wip":2}`), `payload: two values at "candidate.wip"`},
		{payload(`{"wip":1,"WIP":2}`), `payload: two values at "candidate.WIP"`},
		{payload(`{"a":{"b":1},"a.b":2}`), `payload: two values at "candidate.a.b"`},
		{payload(`{"":1}`), `payload: a name is empty or ends with a dot: "candidate."`},
		{payload(`{"` + strings.Repeat("n", 191) + `":1}`), "payload: a path has 201 bytes, more than 200"},
		{payload(`{"a":"` + strings.Repeat("a", 24<<10) + `"}`), "payload: 24584 bytes, more than 24576"},
		{payload(`{"a":"` + strings.Repeat("<", 6<<10) + `"}`), "payload: 36872 bytes as it is stored, more than 24576"},
		{payload(strings.Repeat(`{"a":`, 33) + `1` + strings.Repeat(`}`, 33)), "payload: more than 32 levels"},
		{payload(`{"a":` + strings.Repeat(`[`, 32) + strings.Repeat(`]`, 32) + `}`), "payload: more than 32 levels"},
		{payload(`{"a":` + strings.Repeat(`[{"a":`, 16) + `1` + strings.Repeat(`}]`, 16) + `}`), "payload: more than 32 levels"},
		{address(survey.Recipient{Locale: "ar"}), "recipient.address: is empty"},
		{address(survey.Recipient{Address: " "}), "recipient.address: is empty"},
		{address(survey.Recipient{Address: "a\nBcc: b"}), "recipient.address: holds a control character"},
		{address(survey.Recipient{Address: "\xff"}), "recipient.address: is not valid UTF-8"},
		{address(survey.Recipient{Address: strings.Repeat("a", 321)}), "recipient.address: has 321 bytes, more than 320"},
		{address(survey.Recipient{Address: "a", Locale: "ar\x00"}), "recipient.locale: holds a control character"},
		{address(survey.Recipient{Address: "a", CustomerRef: strings.Repeat("a", 201)}), "recipient.customerRef: has 201 bytes, more than 200"},
		{survey.Item{Payload: json.RawMessage(visit), Recipient: documentsCustomer, OccurredOn: time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)}, "occurredOn: the year 1969 is not from 1970 to 9000"},
	}
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		b := survey.Batch{EventKind: "service-visit-closed"}
		for _, c := range bad {
			b.Items = append(b.Items, c.item)
		}
		b.Items = append(b.Items, payload(visit))
		report := h.take(b)
		for i, c := range bad {
			if got := report.Items[i]; got.Outcome != survey.Failed || !strings.HasPrefix(got.Reason, c.reason) || len(got.Instances) != 0 {
				h.t.Errorf("item %d is %+v, want %q", i, got, c.reason)
			}
		}
		if report.Failed != len(bad) || report.Created != 1 {
			h.t.Errorf("%d failed, %d created", report.Failed, report.Created)
		}
	})
}

// What stands at a path of the recipe has to be a text.
func TestWhatARecipeTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, payload, same, reason string }{
		{name: "a missing value is empty", payload: `{"jobType":"GR","wip":"1"}`, same: `{"jobType":"GR","wip":"1","dealerId":null}`},
		{name: "null is empty", payload: `{"jobType":"GR","wip":null}`, same: `{"jobType":"GR","wip":""}`},
		{name: "a number is what is written", payload: `{"jobType":"GR","wip":12345678901234567890.10}`, same: `{"jobType":"GR","wip":"12345678901234567890.10"}`},
		{name: "a boolean is its word", payload: `{"jobType":"GR","wip":true}`, same: `{"jobType":"GR","wip":"true"}`},
		{name: "other paths do not matter", payload: `{"jobType":"GR","wip":"1","note":"line\nline","list":[{}]}`, same: `{"jobType":"GR","wip":"1"}`},
		{name: "an object", payload: `{"jobType":"GR","wip":{"a":1}}`, reason: "dedupRecipe: candidate.wip: is an object, which has no text; name a value inside it"},
		{name: "an empty object", payload: `{"jobType":"GR","wip":{}}`, reason: "dedupRecipe: candidate.wip: is an object, which has no text; name a value inside it"},
		{name: "an array", payload: `{"jobType":"GR","wip":[]}`, reason: "dedupRecipe: candidate.wip: is an array, which has no text"},
		{name: "a separator", payload: `{"jobType":"GR","wip":"a\u001fb"}`, reason: "keys: recipe: candidate.wip: holds the control character U+001F at byte 1"},
		{name: "a NUL", payload: `{"jobType":"GR","wip":"\u0000"}`, reason: "keys: recipe: candidate.wip: holds the control character U+0000 at byte 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachHost(t, nil, func(h *host) {
				h.publish(csiGR)
				got := h.ingest(c.payload).Items[0].Instances[0]
				if got.Reason != c.reason || (got.Outcome == survey.Failed) != (c.reason != "") {
					h.t.Fatalf("%+v, want the reason %q", got, c.reason)
				}
				if c.same == "" {
					return
				}
				if again := h.ingest(c.same).Items[0]; again.Outcome != survey.Skipped || again.Instances[0].PublicID != got.PublicID {
					h.t.Errorf("%s is another event: %+v", c.same, again)
				}
			})
		})
	}
}

// Objects in the payload have dotted paths.
func TestARecipeReachesIntoObjects(t *testing.T) {
	t.Parallel()
	definition := with(t, `"candidate.wip"`, `"candidate.visit.order.number"`)
	eachHost(t, nil, func(h *host) {
		h.publish(definition)
		report := h.take(batch(
			`{"jobType":"GR","visit":{"order":{"number":1}}}`, `{"jobType":"GR","visit":{"order":{"number":2}}}`,
			`{"visit":{"order":{"number":1,"x":3}},"jobType":"GR"}`,
		))
		if diff := cmp.Diff([]survey.Outcome{survey.Created, survey.Created, survey.Skipped}, outcomes(report)); diff != "" {
			h.t.Error(diff)
		}
	})
}

func twoTriggers(t testing.TB, scope string) string {
	return with(t, `"triggers": [{`, fmt.Sprintf(`"triggers": [{"id": "second", "enabled": true, "eventKind": "service-visit-closed",
		"dedupRecipe": ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"], "dedupScope": %q,
		"schedule": {"initialDelay": "0d", "reminders": ["1d"]}, "channel": "memory:default"}, {"dedupScope": %q, `, scope, scope))
}

func TestTwoTriggersWithOneRecipeDoNotSwallowEachOther(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(twoTriggers(t, "trigger"))
		report := h.ingest()
		if len(report.Items[0].Instances) != 2 || report.Items[0].Outcome != survey.Created || len(h.all()) != 2 {
			h.t.Errorf("%+v", report)
		}
		again := h.ingest().Items[0]
		if again.Outcome != survey.Skipped || again.Instances[0].PublicID == again.Instances[1].PublicID {
			h.t.Errorf("%+v", again)
		}
	})
}

// As the document has it: the survey's triggers share one set of hashes.
func TestDedupScopeSurvey(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(twoTriggers(t, "survey"))
		item := h.ingest().Items[0]
		if item.Outcome != survey.Created || len(item.Instances) != 2 || item.Instances[1].Outcome != survey.Skipped || item.Instances[0].PublicID != item.Instances[1].PublicID {
			h.t.Errorf("%+v", item)
		}
		if got := h.all(); len(got) != 1 || got[0].Key != "survey:4523:"+documentsHash || got[0].TriggerID != "csi-gr-trigger" {
			h.t.Errorf("%+v", got)
		}
	})
}

func TestATriggerThatIsOffMakesNothing(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(with(t, `"enabled": true`, `"enabled": false`))
		if report := h.ingest(); report.NoMatch != 1 || len(h.all()) != 0 {
			h.t.Errorf("%+v", report)
		}
	})
}

func TestAnEventOfAnotherKindMatchesNothing(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		b := batch(visit)
		b.EventKind = "invoice-posted"
		if report := h.take(b); report.NoMatch != 1 {
			h.t.Errorf("%+v", report)
		}
	})
}

// The schedule runs from the event, not from when somebody told of it.
func TestTheScheduleBeginsAtTheEvent(t *testing.T) {
	t.Parallel()
	voc := with(t, `"initialDelay": "0d", "reminders": ["1d"]`, `"initialDelay": "60d", "reminders": ["5d", "10d", "15d"]`,
		`"channel":`, `"expiresAfter": "120d", "channel":`)
	eachHost(t, nil, func(h *host) {
		h.publish(voc)
		on := start.Add(-49 * time.Hour)
		b := batch(visit)
		b.Items[0].OccurredOn = on.In(time.FixedZone("", 3*3600)).Add(300)
		got := h.instance(h.take(b).Items[0].Instances[0].PublicID)
		const day = 24 * time.Hour
		want := survey.Instance{
			DueOn:       on.Add(60 * day),
			TriggeredOn: on, CreatedOn: start, NextSendOn: on.Add(60 * day), ExpiresOn: on.Add(120 * day), RemindersRemaining: 3,
		}
		got = survey.Instance{
			DueOn:       got.DueOn,
			TriggeredOn: got.TriggeredOn, CreatedOn: got.CreatedOn, NextSendOn: got.NextSendOn, ExpiresOn: got.ExpiresOn, RemindersRemaining: got.RemindersRemaining,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			h.t.Error(diff)
		}
	})
}

// Whatever is at a path is there: an object too, also an empty one, and a list. It equals
// nothing.
func TestAnObjectIsThere(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		n := 0
		for filter, want := range map[string]string{
			`"op": "exists"`: "object empty list text", `"op": "exists", "value": true`: "object empty list text", `"op": "exists", "value": false`: "null none",
			`"op": "!=", "value": "x"`: "object empty list null none", `"op": "contains", "value": "x"`: "list text", `"op": "notIn", "value": ["x"]`: "object empty list null none",
		} {
			h.publish(strings.Replace(csiGR, `{"questionId": "candidate.jobType", "op": "==", "value": "GR"}`, `{"questionId": "candidate.complaint", `+filter+`}`, 1))
			var asked []string
			n++
			for _, c := range [][2]string{{"object", `{"id": 7}`}, {"empty", `{}`}, {"list", `["x"]`}, {"text", `"x"`}, {"null", `null`}, {"none", ""}} {
				payload := `{"wip": "` + c[0] + fmt.Sprint(n) + `"`
				if c[1] != "" {
					payload += `, "complaint": ` + c[1]
				}
				if got := h.ingest(payload + "}"); got.Items[0].Outcome == survey.Created {
					asked = append(asked, c[0])
				}
			}
			h.same(filter, want, strings.Join(asked, " "))
		}
	})
}

// A recipient without a reference or a locale has none, also for filters.
func TestWhatARecipientDoesNotHaveDoesNotExist(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(strings.Replace(csiGR, `"filter": {"questionId": "candidate.jobType", "op": "==", "value": "GR"}`,
			`"filter": {"all": [{"questionId": "recipient.customerRef", "op": "exists"}, {"questionId": "recipient.locale", "op": "exists"}]}`, 1))
		for i, r := range []survey.Recipient{{Address: "a@example.com"}, {Address: "b@example.com", Locale: "en"}, {Address: "c@example.com", CustomerRef: "c", Locale: "en"}} {
			got, err := h.survey.Ingest(t.Context(), survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
				Payload: json.RawMessage(fmt.Sprintf(`{"wip": "%d", "recipient": {"customerRef": "of the payload"}}`, i)), Recipient: r,
			}}})
			h.same("error", error(nil), err)
			h.same(r.Address, map[bool]int{true: 1}[r.CustomerRef != ""], got.Created)
		}
	})
}
