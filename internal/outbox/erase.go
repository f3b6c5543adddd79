package outbox

import (
	"context"

	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/storage/driver"
)

// Prefixes tells with what the keys of events about a person begin, page by page, as an
// [sweep.Way] does.
type Prefixes = func(ctx context.Context, from driver.Reader, after int64) (prefixes []string, next int64, err error)

// Erasures delete the events about a person, and before them their deliveries.
func Erasures(ways func(sweep.Subject) []Prefixes) []sweep.Rule {
	return []sweep.Rule{
		sweep.Erasure[deliveryRow]{
			Table: deliveries,
			Ways:  func(s sweep.Subject) []sweep.Way[deliveryRow] { return under(deliveries, s, ways(s)) },
			Judge: func(_ context.Context, _ sweep.Subject, _ sweep.At, d *deliveryRow) (sweep.Fate, error) {
				if !d.LeaseExpiresOn.IsZero() {
					return sweep.Fate{Verdict: sweep.Wait}, nil
				}
				return sweep.Fate{Verdict: sweep.Delete}, nil
			},
		}.Rule(),
		sweep.Erasure[eventRow]{
			Table: events,
			Ways:  func(s sweep.Subject) []sweep.Way[eventRow] { return under(events, s, ways(s)) },
		}.Rule(),
	}
}

// under are the rows whose keys begin with one of the prefixes.
func under[R any](t *driver.Table[R], s sweep.Subject, ways []Prefixes) (out []sweep.Way[R]) {
	for _, way := range ways {
		out = append(out, func(ctx context.Context, from driver.Reader, after int64) (rows []*R, next int64, err error) {
			prefixes, next, err := way(ctx, from, after)
			for _, p := range prefixes {
				if err != nil {
					break
				}
				var some []*R
				some, err = t.Find(ctx, from, s.Scope, driver.Query{
					Where: []driver.Cond{driver.AtLeast("key", p), driver.Less("key", p+"\U0010ffff")}, Limit: maxErased,
				})
				rows = append(rows, some...)
			}
			return rows, next, err
		})
	}
	return out
}
