package notify

import "github.com/belfry-go/belfry/internal/work"

// Passes are the passes over the tables of this package, for a poller.
func (n *Notifier) Passes() []work.Pass {
	return []work.Pass{
		work.New(n.store, n.schedulerSpec()),
		work.Prepared(work.New(n.store, n.generatorSpec()), n.prepareHashKey),
		work.Prepared(work.New(n.store, n.distributorSpec()), n.environment.prepare),
		work.Prepared(work.New(n.store, n.resolveSpec()), n.environment.prepare),
		n.trackerPass(),
		n.box.Pass(),
	}
}
