package forget

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage/driver"
)

// Audit says how the audit is forgotten, which all domains share: entries as old as the
// host says, whatever they tell of, and then what tells of people and no entry needs.
func Audit() []Rule {
	old := func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("done_on", before)} }
	return []Rule{
		Of(Spec[audit.Entry]{
			Table: audit.Table, By: "Audit", Old: old,
			Created: func(e *audit.Entry) time.Time { return e.On },
		}),
		Of(Spec[audit.Personal]{
			Table: audit.People, By: "Audit", Old: old,
			Created: func(p *audit.Personal) time.Time { return p.On },
			Judge: func(ctx context.Context, from driver.Reader, _ At, rows []*audit.Personal) ([]Verdict, error) {
				out := make([]Verdict, len(rows))
				orphans, err := audit.Orphans(ctx, from, rows)
				for i, gone := range orphans {
					if gone {
						out[i] = Delete
					}
				}
				return out, err
			},
		}),
	}
}
