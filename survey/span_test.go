package survey

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
)

// With two of them SQLite walks from the first, page after page.
func TestAPageBeginsAtOneOfItsTwoBeginnings(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	last := &responseRow{Record: storage.Record{ID: 7}, SubmittedOn: noon}
	until := storage.Less("submitted_on", noon.Add(time.Hour))
	for since, want := range map[time.Time]struct {
		where []storage.Cond
		after *storage.Position
	}{
		{}:                     {[]storage.Cond{until}, &storage.Position{Value: noon, ID: 7}},
		noon.Add(-time.Minute): {[]storage.Cond{until}, &storage.Position{Value: noon, ID: 7}},
		noon:                   {[]storage.Cond{until}, &storage.Position{Value: noon, ID: 7}},
		noon.Add(+time.Minute): {[]storage.Cond{until, storage.AtLeast("submitted_on", noon.Add(time.Minute))}, nil},
	} {
		q := ResponseQuery{SurveyID: 1, Since: since, Until: noon.Add(time.Hour), After: last.position()}
		where, after, err := q.span()
		if diff := cmp.Diff(append([]storage.Cond{storage.Eq("survey_id", int64(1))}, want.where...), where); diff != "" || err != nil {
			t.Error(since, err, diff)
		}
		if diff := cmp.Diff(want.after, after); diff != "" {
			t.Error(since, diff)
		}
	}
}
