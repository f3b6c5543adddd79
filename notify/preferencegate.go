package notify

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// preferenceGate keeps recipients' wishes. Its notifier has the keys under which
// those without a Ref are known, and does nothing else.
type preferenceGate struct{ n *Notifier }

func (preferenceGate) name() string { return "preferences" }

// Ask answers with one statement a scope.
func (g preferenceGate) Ask(ctx context.Context, a []Attempt) ([]Verdict, error) {
	asked := make([][]place, len(a))
	var all []place
	for i := range a {
		if a[i].Mandatory {
			continue
		}
		asked[i] = g.n.wishes(&a[i])
		all = append(all, asked[i]...)
	}
	out := make([]Verdict, len(a))
	if len(all) == 0 {
		return out, nil
	}
	var known map[place]*preferenceRow
	err := g.n.store.InTx(ctx, func(tx storage.Tx) (err error) {
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
func (n *Notifier) wishes(a *Attempt) (out []place) {
	who := n.namesOf(a)
	for _, about := range [4][2]string{{a.Method, a.NotificationType}, {"", a.NotificationType}, {a.Method, ""}, {"", ""}} {
		for _, name := range who {
			out = append(out, place{a.Scope, preferenceKey(name, about[0], about[1])})
		}
	}
	return out
}

// namesOf are those under which a recipient may be known. One without a Ref is known
// by hashes, which a rotation of the key changes.
func (n *Notifier) namesOf(a *Attempt) []string {
	names := []string{a.recipient()}
	if a.RecipientRef != "" {
		return names
	}
	for _, hash := range n.addressHashes(a.Method, a.Address) {
		if name := "hash:" + hash; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func optedOut(known map[place]*preferenceRow, asked []place) bool {
	for _, at := range asked {
		if p := known[at]; p != nil {
			return p.OptedOut
		}
	}
	return false
}
