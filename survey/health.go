package survey

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/backlog"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Health tells how links and what subscribers hear of responses are doing; that of the
// Notifier tells of the messages that links are sent by. It looks in one
// scope (storage.Within), or everywhere (storage.Everywhere). However many rows there
// are, it looks at no more than ten thousand of each lane that are due for longest, and
// as many holds, over all scopes. It writes nothing, and takes no lock.
func (s *Service) Health(ctx context.Context, reach storage.ScopeFilter) (health.Summary, error) {
	out, err := backlog.Take(ctx, s.read, reach, backlog.Of(s.dueTable()), s.heldLinks, s.box.Health(topicCompleted))
	if err != nil {
		return health.Summary{}, fmt.Errorf("survey: Health: %w", err)
	}
	return out, nil
}

// dueTable is that of the links: for a send, a reminder or their expiry.
func (s *core) dueTable() backlog.Table {
	return backlog.Table{
		Schema: &instances.Schema,
		Serves: func(row driver.Row) bool {
			return driver.RecordOf(row).Kind == "" || len(s.out.Channels()) > 0
		},
	}
}

// heldLinks counts the links that a person has put on hold, in one statement. Those whose
// messages wait for a person are counted with these.
func (*core) heldLinks(ctx context.Context, c *backlog.Stats) error {
	_, err := c.Count(ctx, &instances.Schema, driver.CountBy{
		By: []string{"reason_code"}, Where: []driver.Cond{driver.Eq("is_on_support_hold", true)}, OrderBy: "id",
	}, func(row driver.Row, n int, capped bool) {
		if held := row.(*instanceRow); held.ReasonCode == reasons.HeldBySupport {
			c.Hold(&instances.Schema, held.ReasonCode, held.ID, n, capped)
		}
	})
	return err
}

// Coming counts the sends of a scope that fall due behind a moment and not after another, by
// channel and moment: at most 10,000 of each lane and all scopes, the first of them; more
// says that it did not come to their end.
func (s Support) Coming(ctx context.Context, scope Scope, after, until time.Time) (out []health.Due, more bool, err error) {
	err = s.read(ctx, func(from driver.Reader) (err error) {
		out, more, err = backlog.Coming(ctx, from, scope, &instances.Schema, after, until, driver.NotNull("next_send_on"), driver.Eq("queued", false))
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("survey: Coming: %w", err)
	}
	return out, more, nil
}
