package sweep

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ours are the columns of every row that contain no personal data.
var ours = []string{"id", "version", "lane", "lease_expires_on", "claim_token", "abandoned"}

// Export writes all rows that an erasure would find, each as a line of JSON: {"table": …,
// "row": {column: value}}. Keys, tokens, empty columns and data about other people are
// left out.
func (e *Eraser) Export(ctx context.Context, w io.Writer, scope storage.Scope, p Person) error {
	s, err := e.subject(ctx, scope, p)
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	for _, rule := range e.rules {
		if err := exportTable(ctx, e.store, out, rule, s); err != nil {
			return fmt.Errorf("%s: %w", rule.Table, err)
		}
	}
	return nil
}

// exportTable writes a row once, by however many ways it is found.
func exportTable(ctx context.Context, store storage.Store, out *json.Encoder, rule Rule, s Subject) error {
	seen := map[int64]bool{}
	return rule.show(ctx, store, s, func(rows []driver.Row) error {
		for _, r := range rows {
			id := driver.RecordOf(r).ID
			if seen[id] {
				continue
			}
			seen[id] = true
			row, err := exported(rule.schema, r)
			if err == nil {
				err = out.Encode(line{rule.Table, row})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// line is one row of an export.
type line struct {
	Table string         `json:"table"`
	Row   map[string]any `json:"row"`
}

// exported are the columns of a row that say something.
func exported(s *driver.Schema, r driver.Row) (map[string]any, error) {
	out := map[string]any{}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Data == driver.Secret || slices.Contains(ours, c.Name) {
			continue
		}
		v, err := c.Value(r)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case nil:
			continue
		case string:
			if v == "" {
				continue
			}
			out[c.Name] = v
			if c.Type == driver.JSON {
				out[c.Name] = json.RawMessage(v)
			}
		case time.Time:
			out[c.Name] = v.Format(time.RFC3339Nano)
		case []byte:
			out[c.Name] = base64.StdEncoding.EncodeToString(v)
		default:
			out[c.Name] = v
		}
	}
	return out, nil
}
