package survey

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/belfry-go/belfry/storage"
)

// exportPage is how many responses an export holds at once.
const exportPage = 100

// ExportJSONLines writes the responses that q selects as JSON, one [StoredResponse]
// a line, and says how many. It reads page by page, holds one page, and keeps no
// transaction open while w takes it. Limit bounds the whole; zero: all.
func (s *Service) ExportJSONLines(ctx context.Context, scope Scope, w io.Writer, q ResponseQuery) (int, error) {
	buffered := bufio.NewWriter(w)
	lines := json.NewEncoder(buffered)
	lines.SetEscapeHTML(false)
	n, err := s.walk(ctx, scope, q, nil, func(page []*responseRow) error {
		for _, r := range page {
			if err := lines.Encode(r.stored()); err != nil {
				return err
			}
		}
		return buffered.Flush()
	})
	return n, err
}

// walk passes the responses on page by page, each read in a transaction of its own,
// and says how many.
func (s *Service) walk(ctx context.Context, scope Scope, q ResponseQuery, columns []string, visit func([]*responseRow) error) (int, error) {
	total, most := 0, q.Limit
	for {
		q.Limit = exportPage
		if most > 0 {
			q.Limit = min(exportPage, most-total)
		}
		var page []*responseRow
		err := s.inTx(ctx, func(tx storage.Tx) (err error) {
			page, err = q.find(ctx, tx, scope, columns...)
			return err
		})
		if err != nil {
			return total, err
		}
		if len(page) > 0 {
			q.After = page[len(page)-1].position()
			if err := visit(page); err != nil {
				return total, err
			}
		}
		total += len(page)
		if len(page) < q.Limit || total == most {
			return total, nil
		}
	}
}
