package notify

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// AutomationJobs lists the runs of due work about one entity in the order of
// their keys, which is not the order of time: a page is sorted by whoever shows
// it. With a transaction it reads there, with nil in the bound one or in one of
// its own.
func (n *Notifier) AutomationJobs(ctx context.Context, tx storage.Tx, scope Scope, sourceType, source string, p Page) ([]AutomationJob, error) {
	within, err := under(source)
	if err != nil {
		return nil, err
	}
	if tx != nil {
		n = n.WithTx(tx)
	}
	return list(ctx, n, automationJobs, scope, p, append(within, storage.Eq("source_type", sourceType)))
}
