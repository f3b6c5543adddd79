package survey

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// largestTx remembers the most versions that one statement read.
type largestTx struct {
	storage.Tx
	most int
}

func (t *largestTx) Get(ctx context.Context, s *driver.Schema, places []driver.ScopedKey, columns []string) ([]driver.Row, error) {
	rows, err := t.Tx.Get(ctx, s, places, columns)
	if s.Name == versions.Name {
		t.most = max(t.most, len(rows))
	}
	return rows, err
}

// However many surveys want an event, a process that knows none of them reads them
// piece by piece.
func TestSurveysThatNobodyHasParsedAreReadInPieces(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		const surveys = 2*versionsAtOnce + 1
		publisher, fresh := New(store, nil, nil), New(store, nil, nil)
		inTransaction(t, publisher, func(tx storage.Tx) {
			for id := range surveys {
				v := Version{SurveyID: int64(id + 1), BusinessUnit: fmt.Sprint("unit ", id+1), Definition: json.RawMessage(`{"triggers": [{
					"id": "t", "enabled": true, "eventKind": "visit", "dedupRecipe": ["candidate.id"], "schedule": {"initialDelay": "0d"}, "channel": "a:b"}]}`)}
				if _, err := publisher.WithTx(tx).Publish(t.Context(), v); err != nil {
					t.Fatal(err)
				}
			}
		})
		inTransaction(t, fresh, func(tx storage.Tx) {
			largest := &largestTx{Tx: tx}
			in := &intake{s: fresh.core, tx: largest, batch: &Batch{EventKind: "visit"}}
			if err := in.listen(t.Context()); err != nil {
				t.Fatal(err)
			}
			if largest.most != versionsAtOnce || len(in.listeners) != surveys {
				t.Errorf("%d versions at once, %d listeners", largest.most, len(in.listeners))
			}
			for i, l := range in.listeners {
				if want := fmt.Sprint("unit ", i+1); l.err != nil || l.row.SurveyID != int64(i+1) || l.businessUnit != want || l.trigger.ID != "t" {
					t.Errorf("listener %d is %+v", i, l)
				}
			}
		})
	})
}
