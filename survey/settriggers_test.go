package survey

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// The rows of a survey's triggers name the published version and its hash; those of
// its neighbours are not touched. A row that is in use no more stays, without a kind.
//
//spec:t-012
func TestTheRowsOfTriggersFollowTheVersion(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		s := New(store, nil)
		publish := func(id int64, triggers string) string {
			got, err := s.Publish(t.Context(), Version{SurveyID: id, Definition: json.RawMessage(`{"triggers": [` + triggers + `]}`)})
			if err != nil {
				t.Fatal(err)
			}
			return got.ContentHash
		}
		trigger := func(id string, enabled bool) string {
			return fmt.Sprintf(`{"id": %q, "enabled": %v, "eventKind": "visit", "dedupRecipe": ["templateId"], "schedule": {"initialDelay": "0d"}, "channel": "a:b"}`, id, enabled)
		}
		left, right := publish(45, trigger("t", true)), publish(4523, trigger("t", true))
		publish(452, trigger("a", true)+","+trigger("z.9_-", true)+","+trigger("off", false))
		hash := publish(452, trigger("z.9_-", true)+","+trigger("new", true))

		type row struct {
			Survey            int64
			ID, Kind, Content string
			Version           int64
		}
		want := []row{
			{45, "t", "visit", left, 1}, {452, "a", "", "", 1}, {452, "new", "visit", hash, 2}, {452, "z.9_-", "visit", hash, 2}, {4523, "t", "visit", right, 1},
		}
		inTransaction(t, s, func(tx storage.Tx) {
			rows, err := triggers.Find(t.Context(), tx, "", driver.Query{OrderBy: "key", Limit: 10})
			var got []row
			for _, r := range rows {
				if r.EventKind == "" {
					r.ContentHash = "" // of whichever version it was in
				} else if v, err := s.versionsOf(t.Context(), tx, r.ref()); err != nil || v[r.ref()].version == nil {
					t.Error(r.TriggerID, err)
				}
				got = append(got, row{r.SurveyID, r.TriggerID, r.EventKind, r.ContentHash, r.VersionNumber})
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	})
}
