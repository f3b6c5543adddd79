package report

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/internal/erase"
	"github.com/belfry-go/belfry/notify"
)

var rewriting = subscriptions.Rewriting()

// erasing is the part of this package in the erasure of a person, who is taken out of the
// recipients. A subscription that has none left goes on, and its runs end as NoRecipients
// unless the type resolves others.
func erasing() erase.Part { return erase.Part{Name: "automation/report", Rules: erasures} }

func erasures() []erase.Rule {
	return []erase.Rule{erase.Of(erase.Spec[row]{
		Table: subscriptions, Rewrites: rewriting, CutFrom: []string{"document"},
		Keeps: map[string]string{"document": "but for the recipients: the parameters of the builder are the host's"},
		Ways: func(p erase.Subject) []erase.Way[row] {
			return []erase.Way[row]{erase.By(subscriptions, p.Scope)}
		},
		Judge: func(_ context.Context, p erase.Subject, _ erase.At, r *row) (erase.Fate, error) {
			others := slices.DeleteFunc(slices.Clone(r.Document.Recipients), notify.IsPerson(p.Person))
			if len(others) == len(r.Document.Recipients) {
				return erase.Fate{}, nil
			}
			r.Document.Recipients = others
			return erase.Fate{Verdict: erase.Cut}, nil
		},
		Show: func(_ context.Context, p erase.Subject, r *row) (bool, error) {
			is := notify.IsPerson(p.Person)
			r.Document.Recipients = slices.DeleteFunc(r.Document.Recipients, func(o notify.Recipient) bool { return !is(o) })
			r.Document.Parameters = nil // whom they tell of nobody knows
			return len(r.Document.Recipients) > 0, nil
		},
	})}
}
