package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/survey"
)

// contactBuffers bounds the pages that a contact rule touches for one send: those of
// its customer's links, forty here.
const contactBuffers = 80

// Whether a customer was asked of late is read by the customer, however many links there
// are.
func TestGuardAContactRuleIsCheapHoweverManyLinksThereAre(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	n := sized(t, 40_000, 1_000_000)
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO survey_instance (version, lane, abandoned, scope, key, public_id, link_hash, customer_ref, kind, status,
			claim_token, link_key, survey_id, survey_version, business_unit, trigger_id, triggered_by, metadata, channel, recipient_address,
			recipient_locale, recipient_zone, unique_hash, contact_group, reminders_remaining, send_ordinal, calls, tries, doubts, chosen, in_doubt, reason_code, is_on_support_hold,
			last_sent_on)
		SELECT 1, 0, false, '', g::text, g::text, md5(g::text), 'c' || g %% (%[1]d / 40), '', 'Sent', '', '', 1, 1, '', '', '', '{}', 'sms', '', '', '', '', 'service',
			0, 0, 0, 0, 0, 'null', false, '', false, now() - g %% 5 * interval '30 days'
		FROM generate_series(1, %[1]d) AS g`, n))
	exec(t, s.DB(), "VACUUM (ANALYZE) survey_instance")
	surveys := survey.New(s, &survey.Options{SurveyURL: "https://host.example/s/{token}"}, channel.Func("sms:none",
		func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil }))
	for id, rule := range map[int64]string{1: `{"notAskedWithin": "10d"}`, 2: `{"notAskedWithin": "10d", "group": "service"}`, 3: `{"notAskedWithin": "10d", "group": "sales"}`} {
		ask(t, surveys, id, rule)
	}
	seen := 0
	for _, statement := range r.during(t, "SELECT", func() {
		if _, err := surveys.PollOnce(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}) {
		if !strings.Contains(statement.text, "last_sent_on\" >=") {
			continue
		}
		seen++
		p := explained(t, s.DB(), statement)
		if p.sequential() || p.buffers() > contactBuffers {
			t.Errorf("%d buffers, %v: %s", p.buffers(), p.scans(), statement.text)
		}
		t.Logf("%d buffers, %v", p.buffers(), p.scans())
	}
	if seen != 3 {
		t.Errorf("%d of 3 rules were seen to look", seen)
	}
}

// ask publishes a survey with a contact rule, and tells of an event of a customer who
// has many links.
func ask(t *testing.T, surveys *survey.Service, id int64, rule string) {
	t.Helper()
	_, err := surveys.Publish(t.Context(), survey.Version{SurveyID: id, Name: "n", IntegrationID: "i", Definition: json.RawMessage(fmt.Sprintf(`{
		"questions": [{"id": "rate", "type": "rating"}],
		"triggers": [{"id": "t", "enabled": true, "eventKind": "k%d", "dedupRecipe": ["templateId", "recipient.address"],
			"schedule": {"initialDelay": "0d"}, "channel": "sms:none", "contact": %s}]}`, id, rule))})
	if err == nil {
		_, err = surveys.Ingest(t.Context(), survey.Batch{EventKind: fmt.Sprintf("k%d", id), Items: []survey.Item{{
			Payload: json.RawMessage(`{}`), Recipient: survey.Recipient{Address: "+964 770 000 0001", CustomerRef: fmt.Sprintf("c%d", id)}}}})
	}
	if err != nil {
		t.Fatal(err)
	}
}
