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
	s, r := migrated(t)
	n := sized(t, 40_000, 1_000_000)
	const each = 250 // rows of a person
	peoplesMessages(t, s, n, each)
	fill(t, s, "notification_job", n, columns{
		"scope": "'tenant'", "key": "'entity' || chr(31) || 'job-' || g", "kind": "'news'", "status": "'Generated'", "partition_key": "'entity'", "row_key": "'job-' || g",
		"traced_on": "CASE WHEN g % 1000 <> 0 THEN now() END",
	})
	person := fmt.Sprint("g % ", n/each)
	fill(t, s, "user_message", n, columns{
		"scope": "'tenant'", "key": "'user:' || " + person + " || chr(31) || g", "kind": "'news'", "status": "'Read'", "job_partition_key": "'entity'",
		"job_row_key": "'job-' || g", "recipient_ref": "'p' || " + person,
	})
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
	s, r := migrated(t)
	n := sized(t, 40_000, 1_000_000)
	const each = 40 // links to an address
	linksOf(t, s, n, columns{
		"scope": "'tenant'", "customer_ref": "CASE WHEN g % 2 = 0 THEN 'c' || g ELSE '' END", "channel": "'email:smtp'", "recipient_address": "'sam@example.com'",
		"recipient_hash": fmt.Sprintf("CASE WHEN g %% %d = 1 THEN '%s' WHEN g %% 2 = 1 THEN md5(g::text) END", n/each, keys.RecipientHash(nil, "", "email", "sam@example.com")),
	})
	privacy := belfry.NewPoller(s, nil, survey.New(s, nil, nil)).Privacy()
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
