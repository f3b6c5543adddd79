package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// The channels of the drill, and its types of notification.
const (
	wellKey = "email:well" // accepts everything at once
	badKey  = "email:bad"  // what it does, its day says

	newsType = "news"
	codeType = "code" // urgent
)

// sent counts the messages that came to a channel; those with a name are noted one by
// one. The zero value has none.
type sent struct {
	arrivals
	count tally
}

func (s *sent) channel(key string) channel.Channel {
	return channel.Func(key, func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		if m.Name == "" {
			s.count.add(1)
		} else {
			s.add(m.Name)
		}
		return channel.Receipt{ID: m.ID}, nil
	})
}

// register makes the types known.
func register(out *notify.Notifier) {
	out.Register(notify.Type{Name: newsType, Renderer: notify.Template{Subject: "News"}})
	out.Register(notify.Type{Name: codeType, Renderer: notify.Template{Subject: "Your code"}, Urgent: true})
}

// job is one message for one recipient.
func job(scope notify.Scope, kind, channel, name, key string) notify.Job {
	return notify.Job{
		Scope: scope, Type: kind, PartitionKey: "person", RowKey: key, Entity: key,
		Recipients: []notify.Recipient{{Ref: key, Name: name, Channel: channel, Address: "p" + key + "@example.com"}},
	}
}

// waits says so many things, one after the other and never in step with a poller, and
// returns how long each took from just before it was said until it arrived.
func (s *sent) waits(ctx context.Context, n int, say func(name string) error) ([]time.Duration, error) {
	random := rand.New(rand.NewPCG(1, 1))
	began := map[string]time.Time{}
	prefix := fmt.Sprint(wall.Now().UnixNano(), "-")
	for i := range n {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-wall.After(15*time.Millisecond + time.Duration(random.Int64N(int64(20*time.Millisecond)))):
		}
		name := fmt.Sprint(prefix, i)
		began[name] = wall.Now()
		if err := say(name); err != nil {
			return nil, err
		}
	}
	var all []time.Duration
	for name, from := range began {
		on, err := s.of(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, on.Sub(from))
	}
	return all, nil
}

// backlog makes so many due messages of one scope and channel: one through the API, and
// copies of it, since how they came there is not what is measured. All are due.
func (g *ground) backlog(ctx context.Context, s store, n int, scope notify.Scope, channel string) error {
	out := notify.New(s, nil)
	register(out)
	g.fills++
	_, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
		Scope: scope, Channel: channel, PartitionKey: fmt.Sprint("job ", g.fills), NotificationType: newsType,
		RecipientRef: "one", Address: "one@example.com", Content: notify.Content{Text: "Dear reader"},
	})
	if err != nil {
		return err
	}
	if err := g.multiply(ctx, s, "outgoing_message", n-1); err != nil {
		return err
	}
	return g.settle(ctx, s)
}

// multiply copies the youngest row of a table, each copy due a microsecond before the
// last.
func (g *ground) multiply(ctx context.Context, s store, table string, n int) error {
	names, err := columnsOf(ctx, s, table)
	if err != nil {
		return err
	}
	var columns, values []string
	for _, name := range names {
		value := "t." + name
		switch name {
		case "id": // a copy has its own
			continue
		case "key", "message_id":
			value += " || '-' || g.n"
		case "due_on":
			value += " - g.n"
			if g.name == postgresName {
				value += " * interval '1 microsecond'"
			}
		}
		columns, values = append(columns, name), append(values, value)
	}
	var id int64
	if err := s.DB().QueryRowContext(ctx, "SELECT max(id) FROM "+table).Scan(&id); err != nil {
		return err
	}
	series, from := "", "(SELECT n FROM generate_series(%d, %d) AS s(n))"
	if g.name == sqliteName {
		series, from = "WITH RECURSIVE s(n) AS (SELECT %d UNION ALL SELECT n+1 FROM s WHERE n < %d) ", "s"
	}
	insert := series + "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(values, ", ") +
		" FROM " + table + " t, " + from + " g WHERE t.id = " + fmt.Sprint(id)
	const chunk = 100_000
	for n > 0 { // the last ones first, which are due first
		first := max(n-chunk, 0) + 1
		if _, err := s.DB().ExecContext(ctx, fmt.Sprintf(insert, first, n)); err != nil {
			return fmt.Errorf("copies in %s: %w", table, err)
		}
		n = first - 1
	}
	return nil
}

func columnsOf(ctx context.Context, s store, table string) ([]string, error) {
	rows, err := s.DB().QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	return names, errors.Join(err, rows.Err())
}

// tally counts, and knows when it counted the first and the last. The zero value is at
// zero.
type tally struct {
	mu          sync.Mutex
	n, most     int
	first, last time.Time
	reached     chan struct{} // closed at most; nil: no goroutine waits
}

func (t *tally) add(n int) {
	now := wall.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		t.first = now
	}
	t.n += n
	if t.most == 0 || t.n <= t.most {
		t.last = now
	}
	if t.reached != nil && t.n >= t.most {
		close(t.reached)
		t.reached = nil
	}
}

// after begins anew, and returns what is closed when so many were counted.
func (t *tally) after(n int) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	reached := make(chan struct{})
	t.n, t.most, t.reached = 0, n, reached
	return reached
}

// total is how many were counted since it began.
func (t *tally) total() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

// rate is how many came in a second, from the first to the last.
func (t *tally) rate() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return float64(t.most) / max(t.last.Sub(t.first).Seconds(), 1e-9)
}

// reach waits for what after returned.
func reach(ctx context.Context, reached <-chan struct{}, what string) error {
	limit := wall.Timer(patience)
	defer limit.Stop()
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return fmt.Errorf("not within %v: %s", patience, what)
	}
}

// median of some figures.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
