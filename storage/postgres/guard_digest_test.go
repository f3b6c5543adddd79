package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify"
)

// Where a job is told, and what its digest is of, is read by indexes of their own,
// however many entries there are.
func TestGuardADigestIsCheapHoweverManyEntriesThereAre(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	n := sized(t, 40_000, 1_000_000)
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO digest_entry (version, lane, abandoned, scope, key, digest, recipient_ref, recipient_hash,
			kind, status, claim_token, business_unit, recipient)
		SELECT 1, 0, false, 'tenant', 'feed' || chr(31) || g || chr(31) || md5(g::text), 'd' || g %% (%[1]d / 50), 'p' || g %% (%[1]d / 50), md5(g::text),
			'news', 'Recorded', '', '', '{}'
		FROM generate_series(1, %[1]d) AS g`, n))
	exec(t, s.DB(), "VACUUM (ANALYZE) digest_entry")
	out := notify.New(s, nil)
	looked := 0
	for _, asked := range r.during(t, "SELECT", func() {
		in, err := out.Digests(t.Context(), nil, "tenant", notify.Coordinates{PartitionKey: "feed", RowKey: "77"})
		if err != nil || len(in) != 1 || in[0].Others != 49 {
			t.Fatal(in, err)
		}
	}) {
		if !strings.Contains(asked.text, "digest_entry") {
			continue
		}
		looked++
		plan := explained(t, s.DB(), asked)
		if plan.buffers() > runsBuffers || plan.sequential() {
			t.Errorf("%d buffers, %v: %s", plan.buffers(), plan.scans(), asked.text)
		}
		t.Logf("%d buffers, %v", plan.buffers(), plan.scans())
	}
	if looked != 2 {
		t.Errorf("%d statements were looked at", looked)
	}
}
