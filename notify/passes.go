package notify

import "github.com/belfry-go/belfry/internal/work"

// Passes are the passes over the tables of this package, for a poller.
func (n *Notifier) Passes() []work.Pass {
	return []work.Pass{
		work.New(n.store, n.schedulerSpec()),
		work.New(n.store, n.generatorSpec()),
		work.New(n.store, n.campaignSpec()),
		work.New(n.store, n.cancelSpec()),
		work.New(n.store, n.distributorSpec()),
		work.New(n.store, n.resolveSpec()),
		n.box.Pass(),
	}
}
