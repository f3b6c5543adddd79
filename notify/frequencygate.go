package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// frequencyGate keeps the caps.
type frequencyGate struct {
	store storage.Store
	caps  []FrequencyCap
}

// newFrequencyGate panics on a cap that bounds nothing.
func newFrequencyGate(store storage.Store, caps []FrequencyCap) *frequencyGate {
	for _, c := range caps {
		if c.Limit < 1 || c.Limit > 1000 || c.Per < time.Minute {
			panic(fmt.Sprintf("notify: Gates: a cap of %d messages per %v: it takes 1 to 1000, and a minute or more", c.Limit, c.Per))
		}
	}
	return &frequencyGate{store, caps}
}

func (*frequencyGate) name() string { return "frequency" }

func (g *frequencyGate) Ask(ctx context.Context, a []Attempt) (out []Verdict, err error) {
	err = counting(ctx, g.store, func(tx storage.Tx) error {
		out = make([]Verdict, len(a))
		return g.count(ctx, tx, a, out)
	})
	return out, err
}

// count answers in one transaction, with one statement a scope for what is known
// and two for all that is new or changed.
func (g *frequencyGate) count(ctx context.Context, tx storage.Tx, a []Attempt, out []Verdict) error {
	rows, err := frequencyRows(ctx, tx, a)
	if err != nil {
		return err
	}
	changed := map[*frequencyRow]bool{}
	for i := range a {
		if a[i].Mandatory {
			continue
		}
		r := rows[placeOf(&a[i])]
		next, over := r.count(g.caps, a[i].MessageID, a[i].Now)
		switch {
		case over == nil:
			changed[r] = true
		case over.Skip:
			out[i] = Skip(ReasonFrequencyCap)
		default:
			out[i] = Defer(next, ReasonFrequencyCap)
		}
	}
	if a[0].DryRun {
		return nil
	}
	write := make([]*frequencyRow, 0, len(changed))
	for r := range changed {
		r.forget(g.caps, a[0].Now)
		write = append(write, r)
	}
	return upsert(ctx, tx, frequencies, write)
}

// frequencyRows loads the recipients' rows; those that have none get a new one.
func frequencyRows(ctx context.Context, tx storage.Tx, a []Attempt) (map[place]*frequencyRow, error) {
	var places []place
	for i := range a {
		if !a[i].Mandatory {
			places = append(places, placeOf(&a[i]))
		}
	}
	rows, err := loadPlaces(ctx, tx, frequencies, places)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		if rows[p] == nil {
			rows[p] = &frequencyRow{Record: storage.Record{Scope: p.scope, Key: p.key}}
		}
	}
	return rows, nil
}

// placeOf is where a recipient's row is.
func placeOf(a *Attempt) place { return place{a.Scope, a.recipient()} }
