package notify

import (
	"context"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/census"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Health tells how messages, what leads to them and what subscribers hear of them are
// doing: in one scope (storage.Within), or everywhere (storage.Everywhere). However
// many rows there are, it looks at no more than ten thousand of each lane that are due
// for longest, and as many holds of each reason, over all scopes. It writes nothing,
// and takes no lock.
func (n *Notifier) Health(ctx context.Context, reach storage.Reach) (health.Summary, error) {
	read := func(ctx context.Context, f func(driver.Reader) error) error { return n.read(ctx, nil, f) }
	out, err := census.Take(ctx, read, reach, census.Of(n.dueTables()...), n.box.Health(topicStatus), census.Pauses(pauses), census.Outages(true))
	if err != nil {
		return health.Summary{}, fmt.Errorf("notify: Health: %w", err)
	}
	return out, nil
}

// dueTables are those with rows that become due. The holds of each are those of its
// states.
func (n *core) dueTables() []census.Table {
	tried := []string{HoldRetries, HoldRefused}
	types, rendered, channels := n.registry.typeNames(), n.registry.rendered(), n.channelKeys()
	return []census.Table{
		{Schema: &schedules.Schema, Serves: among(types), Reasons: append(tried[:2:2], HoldConflict)},
		{Schema: &jobs.Schema, Serves: among(rendered), Reasons: append(tried[:2:2], HoldConflict)},
		{Schema: &messagingJobs.Schema, Serves: among(rendered), Reasons: append(tried[:2:2], HoldConflict)},
		{
			Schema: &outgoingMessages.Schema, By: []string{"status"}, Serves: among(channels),
			InDoubt: func(row driver.Row) bool { return driver.RecordOf(row).Status == StatusOutcomeUnknown },
			Reasons: append(tried[:2:2], HoldConflict, HoldInDoubt), Doubtful: HoldInDoubt,
		},
		{Schema: &deliveryEvents.Schema},
	}
}

// among says whether a row's kind is one of these. Every process serves rows of none.
func among(kinds []string) func(driver.Row) bool {
	return func(row driver.Row) bool {
		kind := driver.RecordOf(row).Kind
		return kind == "" || slices.Contains(kinds, kind)
	}
}
