package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/survey"
)

const (
	// eraseBuffers bounds the pages that one statement of an erasure touches: it reads a page
	// of rows that lie apart, and their neighbours, by their keys.
	eraseBuffers = 7000
	// eraseRows bounds the rows that one transaction writes.
	eraseRows = 1000
)

// A person is found by indexes alone, however much there is of others.
func TestGuardAPersonIsErasedByIndexes(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	n := sized(t, 40_000, 1_000_000)
	const each = 250 // rows of a person
	hash := keys.RecipientHash(nil, "", "email", "sam@example.com")
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO outgoing_message (version, lane, abandoned, is_on_support_hold, scope, key, message_id, hold_reason, kind,
			status, claim_token, partition_key, row_key, job_partition_key, notification_type, business_unit, method, recipient_ref, recipient_hash,
			hash_key, recipient_name, address, zone, attempt_no, content, content_hash, input_hash, in_doubt, consent_group, mandatory, requested,
			calls, provider_message_id, redirected, doubts, lookups, resolution, retry_count, lease_loss_count, reason_code, copies, unless_read)
		SELECT 1, 0, false, false, 'tenant', 'job-' || g, g::text, '', 'email:smtp', 'Delivered', '', 'job-' || g, '', 'entity', 'news', '', 'email',
			CASE WHEN g %% 2 = 0 THEN 'p' || g %% (%[1]d / %[2]d) END,
			CASE WHEN g %% (%[1]d / %[2]d) = 1 THEN '%[3]s' ELSE md5(g::text) END,
			'', '', '', '', 0, '{}', '', '', 'Hold', '', false, false, 1, '', false, 0, 0, '', 0, 0, '', 0, ''
		FROM generate_series(1, %[1]d) AS g`, n, each, hash))
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO notification_job (version, lane, abandoned, is_on_support_hold, scope, key, hold_reason, kind, status, claim_token,
			partition_key, row_key, business_unit, entity_type, entity, event_data, recipients, input_hash, source_key, frozen, retry_count,
			lease_loss_count, reason_code, traced_on)
		SELECT 1, 0, false, false, 'tenant', 'entity' || chr(31) || 'job-' || g, '', 'news', 'Generated', '', 'entity', 'job-' || g, '', '', '', 'null', '[]',
			'', '', '{}', 0, 0, '', CASE WHEN g %% 1000 <> 0 THEN now() END
		FROM generate_series(1, %d) AS g`, n))
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO user_message (version, lane, abandoned, scope, key, kind, status, claim_token, partition_key, row_key,
			job_partition_key, job_row_key, business_unit, recipient_ref, content, content_hash, input_hash)
		SELECT 1, 0, false, 'tenant', 'user:' || g %% (%[1]d / %[2]d) || chr(31) || g, 'news', 'Read', '', '', '', 'entity', 'job-' || g, '', 'p' || g %% (%[1]d / %[2]d),
			'{}', '', ''
		FROM generate_series(1, %[1]d) AS g`, n, each))
	exec(t, s.DB(), "VACUUM (ANALYZE) outgoing_message, notification_job, user_message")
	privacy := belfry.NewPoller(s, nil, notify.New(s, nil)).Privacy()
	who := belfry.Person{Ref: "p2", Addresses: []belfry.PersonAddress{{Method: "email", Address: "sam@example.com"}}, Inboxes: []string{"user:2"}}
	var report belfry.ErasureReport
	before := scan[int64](t, s.DB(), "SELECT pg_current_xact_id()::text::bigint")
	seen := r.during(t, "", func() {
		var err error
		if report, err = privacy.Erase(t.Context(), "tenant", who, belfry.By{Actor: "ann", Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
	})
	largest := scan[int](t, s.DB(), fmt.Sprintf(`SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM
		(SELECT xmin FROM outgoing_message UNION ALL SELECT xmin FROM notification_job UNION ALL SELECT xmin FROM user_message) AS written
		WHERE xmin::text::bigint > %d GROUP BY xmin) AS transactions`, before))
	if largest == 0 || largest > eraseRows {
		t.Errorf("a transaction wrote %d rows", largest)
	}
	if got := report.Tables["outgoing_message"].Emptied; got != 2*each {
		t.Errorf("%d messages were emptied: %+v", got, report)
	}
	checked := map[string]int{}
	for _, statement := range seen {
		verb, _, _ := strings.Cut(statement.text, " ")
		if verb != "SELECT" && verb != "UPDATE" && verb != "DELETE" && verb != "WITH" {
			continue
		}
		for _, table := range []string{"outgoing_message", "notification_job", "user_message"} {
			if !strings.Contains(statement.text, `"`+table+`"`) {
				continue
			}
			plan := explained(t, s.DB(), statement)
			if checked[table] = max(checked[table], plan.buffers()); plan.sequential() {
				t.Errorf("%s: %v", table, plan.scans())
			}
		}
	}
	if len(checked) != 3 {
		t.Errorf("plans were seen of %v", checked)
	}
	for table, most := range checked {
		if most > eraseBuffers {
			t.Errorf("%s: %d buffers in a statement", table, most)
		}
	}
	t.Logf("most buffers of a statement: %v; most rows of a transaction: %d", checked, largest)
}

// The links to an address that name nobody are found by an index alone, too.
func TestGuardTheLinksToAnAddressAreErasedByAnIndex(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	n := sized(t, 40_000, 1_000_000)
	const each = 40 // links to an address
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO survey_instance (version, lane, abandoned, scope, key, public_id, link_hash, customer_ref, kind, status,
			claim_token, link_key, survey_id, survey_version, business_unit, trigger_id, triggered_by, metadata, channel, recipient_address,
			recipient_locale, recipient_zone, recipient_hash, unique_hash, contact_group, reminders_remaining, send_ordinal, calls, tries, doubts, chosen, in_doubt, reason_code,
			is_on_support_hold)
		SELECT 1, 0, false, 'tenant', g::text, g::text, md5(g::text), CASE WHEN g %% 2 = 0 THEN 'c' || g ELSE '' END, '', 'Sent', '', '', 1, 1, '', '', '', '{}',
			'email:smtp', 'sam@example.com', '', '', CASE WHEN g %% (%[1]d / %[2]d) = 1 THEN '%[3]s' WHEN g %% 2 = 1 THEN md5(g::text) END, '', '',
			0, 0, 0, 0, 0, 'null', false, '', false
		FROM generate_series(1, %[1]d) AS g`, n, each, keys.RecipientHash(nil, "", "email", "sam@example.com")))
	exec(t, s.DB(), "VACUUM (ANALYZE) survey_instance")
	privacy := belfry.NewPoller(s, nil, survey.New(s, nil)).Privacy()
	who := belfry.Person{Addresses: []belfry.PersonAddress{{Method: "email", Address: "Sam@Example.com"}}}
	var report belfry.ErasureReport
	seen := r.during(t, "SELECT", func() {
		var err error
		if report, err = privacy.Erase(t.Context(), "tenant", who, belfry.By{Actor: "ann", Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
	})
	if got := report.Tables["survey_instance"].Cut; got != each {
		t.Errorf("%d links were erased: %+v", got, report)
	}
	checked, most := 0, 0
	for _, statement := range seen {
		if !strings.Contains(statement.text, `"recipient_hash"`) || !strings.Contains(statement.text, "WHERE") {
			continue
		}
		plan := explained(t, s.DB(), statement)
		checked, most = checked+1, max(most, plan.buffers())
		if plan.sequential() {
			t.Errorf("%v: %s", plan.scans(), statement.text)
		}
	}
	if checked == 0 {
		t.Error("no plan was seen")
	}
	t.Logf("%d plans, at most %d buffers", checked, most)
}
