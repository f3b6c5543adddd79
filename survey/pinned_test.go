package survey

import (
	"encoding/json"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// A process of an earlier release takes a group in which one row's version has a
// filter, a duration or a text that it does not know: the others are sent all the
// same, instead of failing with it.
func TestAVersionOfALaterReleaseHarmsNoOtherSend(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		s := New(store, nil)
		good := titled(t, s, "", 1, "good")
		items := []work.Item[Instance]{{Row: &Instance{SurveyID: 1, SurveyVersion: good.Number}}}
		inTransaction(t, s, func(tx storage.Tx) {
			for i, definition := range []string{
				`{"questions": [{"id": "q", "type": "date", "when": {"questionId": "p", "op": "soundsLike", "value": "a"}}]}`,
				`{"triggers": [{"id": "t", "expiryGrace": "1 moon"}]}`,
				`{"title": 7}`,
			} {
				number := int64(7 + i)
				row := &versionRow{Record: storage.Record{Key: versionKey(1, number)}, SurveyID: 1, Number: number, ContentHash: "h", Definition: json.RawMessage(definition)}
				if _, err := versions.Insert(t.Context(), tx, row); err != nil {
					t.Error(err)
				}
				items = append(items, work.Item[Instance]{Row: &Instance{SurveyID: 1, SurveyVersion: number}})
			}
		})
		got, err := s.pinned(t.Context(), items)
		if err != nil {
			t.Fatal("the whole group fails:", err)
		}
		for i, it := range got {
			if (it.version != nil) != (i == 0) {
				t.Errorf("row %d has the version %v", i, it.version)
			}
		}
	})
}
