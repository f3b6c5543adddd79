package report

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify"
)

var rewriting = subscriptions.Rewriting()

// erasures take a person out of the recipients. A subscription that has none left goes on,
// and its runs end as NoRecipients unless the type resolves others.
func erasures() []sweep.Rule {
	return []sweep.Rule{sweep.Erasure[row]{
		Table: subscriptions, Rewrites: rewriting, CutFrom: []string{"document"},
		Keeps: map[string]string{"document": "but for the recipients: the parameters of the builder are the host's"},
		Ways: func(p sweep.Subject) []sweep.Way[row] {
			return []sweep.Way[row]{sweep.By(subscriptions, p.Scope)}
		},
		Judge: func(_ context.Context, p sweep.Subject, _ sweep.At, r *row) (sweep.Fate, error) {
			others := slices.DeleteFunc(slices.Clone(r.Document.Recipients), notify.IsPerson(p.Person))
			if len(others) == len(r.Document.Recipients) {
				return sweep.Fate{}, nil
			}
			r.Document.Recipients = others
			return sweep.Fate{Verdict: sweep.Cut}, nil
		},
		Show: func(_ context.Context, p sweep.Subject, r *row) (bool, error) {
			is := notify.IsPerson(p.Person)
			r.Document.Recipients = slices.DeleteFunc(r.Document.Recipients, func(o notify.Recipient) bool { return !is(o) })
			r.Document.Parameters = nil // it is unknown whom they name
			return len(r.Document.Recipients) > 0, nil
		},
	}.Rule()}
}
