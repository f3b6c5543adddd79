package notify

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// preferenceGate keeps recipients' wishes.
type preferenceGate struct{ store storage.Store }

func (preferenceGate) name() string { return "preferences" }

// Ask answers with one statement a scope.
func (g preferenceGate) Ask(ctx context.Context, a []Attempt) ([]Verdict, error) {
	asked := make([][4]place, len(a))
	var all []place
	for i := range a {
		if a[i].Mandatory {
			continue
		}
		asked[i] = wishes(&a[i])
		all = append(all, asked[i][:]...)
	}
	out := make([]Verdict, len(a))
	if len(all) == 0 {
		return out, nil
	}
	var known map[place]*preferenceRow
	err := g.store.InTx(ctx, func(tx storage.Tx) (err error) {
		known, err = loadPlaces(ctx, tx, preferences, all)
		return err
	})
	for i := range a {
		if optedOut(known, asked[i]) { // nothing is known of what was not asked about
			out[i] = Skip(ReasonOptedOut)
		}
	}
	return out, err
}

// wishes are where the preferences about an attempt would be, the most particular
// first.
func wishes(a *Attempt) (out [4]place) {
	for i, about := range [4][2]string{{a.Method, a.NotificationType}, {"", a.NotificationType}, {a.Method, ""}, {"", ""}} {
		out[i] = place{a.Scope, preferenceKey(a.recipient(), about[0], about[1])}
	}
	return out
}

func optedOut(known map[place]*preferenceRow, asked [4]place) bool {
	for _, at := range asked {
		if p := known[at]; p != nil {
			return p.OptedOut
		}
	}
	return false
}
