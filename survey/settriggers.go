package survey

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

// triggerKey is the key of a trigger's row.
func triggerKey(surveyID int64, triggerID string) string {
	return strconv.FormatInt(surveyID, 10) + "\x1f" + triggerID
}

// setTriggers makes the rows of a survey's triggers those wanted; the others have no
// kind of event any more. The survey's row has been written in the same transaction,
// so that nobody else does this now.
func setTriggers(ctx context.Context, tx storage.Tx, scope Scope, surveyID int64, wanted []*triggerRow) error {
	missing := map[string]*triggerRow{}
	for _, w := range wanted {
		missing[w.Key] = w
	}
	survey := strconv.FormatInt(surveyID, 10)
	stored, err := triggers.Find(ctx, tx, scope, storage.Query{
		Where: []storage.Cond{
			storage.Greater("key", survey+"\x1f"), storage.Less("key", survey+"\x20"),
			storage.Any(storage.Greater("event_kind", ""), storage.In("key", slices.Sorted(maps.Keys(missing)))),
		},
		Limit: 2 * maxTriggers,
	})
	if err != nil {
		return err
	}
	for _, row := range stored {
		w, ok := missing[row.Key]
		if !ok {
			row.EventKind = ""
			continue
		}
		row.EventKind, row.VersionNumber, row.ContentHash = w.EventKind, w.VersionNumber, w.ContentHash
		delete(missing, row.Key)
	}
	if err := triggers.Save(ctx, tx, stored...); err != nil {
		return err
	}
	_, err = triggers.Insert(ctx, tx, slices.SortedFunc(maps.Values(missing), byKey)...)
	return err
}

func byKey(a, b *triggerRow) int { return strings.Compare(a.Key, b.Key) }
