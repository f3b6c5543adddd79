package outbox

import (
	"context"

	"github.com/belfry-go/belfry/internal/backlog"
	"github.com/belfry-go/belfry/storage/driver"
)

// Health counts the deliveries of events of one topic: what is due, and the dead
// letters. The table is shared by all domains.
func (b *Box) Health(topic string) backlog.Look {
	ours := func(row driver.Row) bool { return row.(*deliveryRow).Topic == topic }
	due := backlog.Of(backlog.Table{
		Schema: &deliveries.Schema, By: []string{"topic"}, Ours: ours,
		Serves: func(row driver.Row) bool {
			_, here := b.subscriber(driver.RecordOf(row).Kind)
			return here
		},
	})
	return func(ctx context.Context, c *backlog.Stats) error {
		if err := due(ctx, c); err != nil {
			return err
		}
		_, err := c.Count(ctx, &deliveries.Schema, driver.CountBy{
			By: []string{"kind", "topic"}, Where: []driver.Cond{driver.NotNull("dead_on")}, OrderBy: "scope",
		}, func(row driver.Row, n int, capped bool) {
			if ours(row) {
				c.Dead(deliveries.Name, driver.RecordOf(row).Kind, n, capped)
			}
		})
		return err
	}
}
