package survey

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// With two of them SQLite walks from the first, page after page.
func TestAPageBeginsAtOneOfItsTwoBeginnings(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	last := driver.Position{Value: noon, ID: 7}.String()
	until := driver.Less("submitted_on", noon.Add(time.Hour))
	for since, want := range map[time.Time]struct {
		where []driver.Cond
		after string
	}{
		{}:                     {[]driver.Cond{until}, last},
		noon.Add(-time.Minute): {[]driver.Cond{until}, last},
		noon:                   {[]driver.Cond{until}, last},
		noon.Add(+time.Minute): {[]driver.Cond{until, driver.AtLeast("submitted_on", noon.Add(time.Minute))}, ""},
	} {
		q := ResponseQuery{SurveyID: 1, Since: since, Until: noon.Add(time.Hour), Page: storage.Page{After: last}}
		where, p, err := q.span()
		if diff := cmp.Diff(append([]driver.Cond{driver.Eq("survey_id", int64(1))}, want.where...), where); diff != "" || err != nil {
			t.Error(since, err, diff)
		}
		if diff := cmp.Diff(want.after, p.After); diff != "" {
			t.Error(since, diff)
		}
	}
}
