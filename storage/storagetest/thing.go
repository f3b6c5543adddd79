package storagetest

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// thing is the row of the suite's tables: every kind of column, nullable and not,
// and a fixed one beside those of Record.
type thing struct {
	storage.Record
	Name    string            `db:"name"`
	Note    string            `db:"note,null"`
	Origin  string            `db:"origin,fixed"`
	Amount  int64             `db:"amount"`
	Rank    int32             `db:"ranking,null"`
	Ready   bool              `db:"is_ready"`
	Checked bool              `db:"is_checked,null"`
	SeenOn  time.Time         `db:"seen_on"`
	Tags    []string          `db:"tags,json"`
	Labels  map[string]string `db:"labels,json,null"`
	Raw     json.RawMessage   `db:"raw,json,null"`
	Data    []byte            `db:"data"`
	Seal    []byte            `db:"seal,null"`
	Draft   string            // has no column
}

// The statuses of things.
const (
	ready = "Ready"
	busy  = "Busy"
	done  = "Done"
)

// newThing is a free row that is due at base.
func newThing(key string) *thing {
	return &thing{
		Record: storage.Record{Key: key, Status: ready, DueOn: base},
		Data:   []byte{},
	}
}

// newThings are rows with those keys, due one microsecond after the other.
func newThings(keys ...string) []*thing {
	out := make([]*thing, len(keys))
	for i, key := range keys {
		out[i] = newThing(key)
		out[i].DueOn = at(i)
	}
	return out
}

func keysOf(rows []*thing) []string {
	keys := make([]string, len(rows))
	for i, r := range rows {
		keys[i] = r.Key
	}
	return keys
}

// copyOf is another struct with the same content, as another reader holds it.
func copyOf(r *thing) *thing {
	c := *r
	return &c
}
