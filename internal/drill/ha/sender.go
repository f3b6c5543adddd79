package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/postgres"
)

// moments are when something happened.
type moments struct {
	mu  sync.Mutex
	all []time.Time
}

func (m *moments) add() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, wall.Now())
}

// gap is the longest time without a moment after began.
func (m *moments) gap(began, now time.Time) (from, to time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := began
	for _, on := range append(slices.Clone(m.all), now) {
		if on.Before(began) {
			continue
		}
		if on.Sub(last) > to.Sub(from) {
			from, to = last, on
		}
		last = on
	}
	return from, to
}

// probe writes to every node that takes it, all the time, without Belfry.
type probe struct {
	written moments
	rows    atomic.Int64
	mu      sync.Mutex
	kept    map[int64]bool // acknowledged: whether the database has them
	stop    func()
}

func newProbe(ctx context.Context, c *cluster) *probe {
	ctx, cancel := context.WithCancel(ctx)
	p, running := &probe{kept: map[int64]bool{}}, sync.WaitGroup{}
	for _, n := range c.nodes {
		running.Go(func() {
			db, err := sql.Open("postgres", dsn(n.port))
			if err != nil {
				return
			}
			defer func() { _ = db.Close() }()
			for ctx.Err() == nil {
				p.write(ctx, db)
				pass(ctx, 50*time.Millisecond)
			}
		})
	}
	p.stop = func() { cancel(); running.Wait() }
	return p
}

func (p *probe) write(ctx context.Context, db *sql.DB) {
	ctx, end := context.WithTimeout(ctx, 500*time.Millisecond)
	defer end()
	row := p.rows.Add(1)
	_, err := db.ExecContext(ctx, fmt.Sprintf("CREATE TABLE IF NOT EXISTS public.probe (n bigint); INSERT INTO public.probe VALUES (%d)", row))
	if err != nil || ctx.Err() != nil { // PostgreSQL commits what was cancelled while it waited for a synchronous standby
		return
	}
	p.written.add()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[row] = false
}

// lost ends the writing, and counts the acknowledged rows that a database does not have.
func (p *probe) lost(ctx context.Context, db *sql.DB) (lost int, err error) {
	p.stop()
	rows, err := db.QueryContext(ctx, "SELECT n FROM public.probe")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return 0, err
		}
		if _, ok := p.kept[n]; ok {
			p.kept[n] = true
		}
	}
	for _, kept := range p.kept {
		if !kept {
			lost++
		}
	}
	return lost, rows.Err()
}

// sender is one program that makes messages and sends them, by one way to the cluster.
type sender struct {
	name  string
	store *postgres.Store
	out   *notify.Notifier
	stop  func() error

	sent moments
	mu   sync.Mutex
	made []string       // acknowledged
	came map[string]int // calls of each message
	errs map[string]int // of the host since they were last asked for
}

// senders are one for each way, each with tables of its own.
func (c *cluster) senders(ctx context.Context) (all []*sender, err error) {
	for _, way := range []struct{ name, dsn string }{
		{"hosts", c.direct()}, {"HAProxy", dsn(c.proxyPort)}, {"PgBouncer", dsn(c.bouncerPort)},
	} {
		s := &sender{name: way.name, came: map[string]int{}, errs: map[string]int{}}
		var opened error
		err := c.await(ctx, "a way by "+way.name, func() bool {
			s.store, opened = postgres.Open(ctx, way.dsn, &postgres.Options{Schema: strings.ToLower(way.name), IOTimeout: 5 * time.Second})
			return opened == nil || !errors.Is(opened, storage.ErrUnavailable)
		})
		if err = errors.Join(err, opened); err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		s.begin(ctx, c.log)
		all = append(all, s)
	}
	return all, nil
}

const channelKey = "email:drill"

// begin sends, and makes a message every 20 ms as a host does: again until it is told that
// it is made.
func (s *sender) begin(ctx context.Context, log io.Writer) {
	logger := slog.New(slog.NewTextHandler(log, nil)).With("way", s.name)
	s.out = notify.New(s.store, &notify.Options{Logger: logger}, channel.Func(channelKey, func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		s.sent.add()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.came[m.Text]++
		return channel.Receipt{ID: m.ID}, nil
	}))
	making, end := context.WithCancel(ctx)
	sending, halt := context.WithCancel(ctx)
	var makes sync.WaitGroup
	makes.Go(func() {
		for n := 0; making.Err() == nil; n++ {
			s.make(making, fmt.Sprint(n))
			pass(making, 20*time.Millisecond)
		}
	})
	ended := make(chan error, 1)
	go func() {
		ended <- belfry.NewPoller(s.store, &belfry.Options{Logger: logger, Lease: 10 * time.Second}, s.out).Run(sending)
	}()
	s.stop = func() error {
		end()
		makes.Wait()
		err := s.rest(ctx)
		halt()
		if ran := <-ended; !errors.Is(ran, context.Canceled) {
			err = errors.Join(err, ran)
		}
		return err
	}
}

func (s *sender) make(ctx context.Context, text string) {
	for {
		asking, end := context.WithTimeout(ctx, 10*time.Second)
		_, err := s.out.EnsureOutgoingMessage(asking, nil, notify.OutgoingMessage{
			Channel: channelKey, PartitionKey: text, NotificationType: "news", RecipientRef: text, Address: "p@example.com", Content: notify.Content{Text: text},
		})
		end()
		s.mu.Lock()
		switch {
		case err == nil:
			s.made = append(s.made, text)
		case ctx.Err() == nil:
			s.errs[kind(err)]++
		}
		s.mu.Unlock()
		if err == nil || ctx.Err() != nil {
			return
		}
		pass(ctx, 100*time.Millisecond)
	}
}

// kind is what a host branches on.
func kind(err error) string {
	switch {
	case errors.Is(err, storage.ErrUnavailable):
		return "ErrUnavailable"
	case errors.Is(err, storage.ErrOutcomeUnknown):
		return "ErrOutcomeUnknown"
	case errors.Is(err, storage.ErrBusy):
		return "ErrBusy"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	}
	return err.Error()
}

// errors are those that the host has met since it was last asked.
func (s *sender) errors() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for kind, n := range s.errs {
		out = append(out, fmt.Sprintf("%d %s", n, kind))
	}
	clear(s.errs)
	slices.Sort(out)
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

// rest waits until nothing is due or with a worker.
func (s *sender) rest(ctx context.Context) error {
	for range 120 {
		n, err := s.count(ctx, "status IN ('Created', 'Sending', 'RetryReady')")
		if err == nil && n == 0 {
			return nil
		}
		pass(ctx, time.Second)
	}
	return errors.New(s.name + ": messages are left after two minutes")
}

func (s *sender) count(ctx context.Context, where string) (n int, err error) {
	err = s.store.DB().QueryRowContext(ctx, "SELECT count(*) FROM "+strings.ToLower(s.name)+".outgoing_message WHERE "+where).Scan(&n)
	return n, err
}

// total is what became of all messages of a series.
type total struct {
	made, lost, doubled, tries, doubts int
	alarm                              bool
}

func (t total) String() string {
	return fmt.Sprintf("%d messages, %d lost, %d doubled, %d tries counted, %d in doubt, told that the database has forgotten commits: %t",
		t.made, t.lost, t.doubled, t.tries, t.doubts, t.alarm)
}

// settle ends the sending, and counts.
func (s *sender) settle(ctx context.Context) (t total, err error) {
	if err := s.stop(); err != nil {
		return t, err
	}
	s.stop = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	t.made, t.alarm = len(s.made), !s.store.Losses().Last().NoticedOn.IsZero()
	if t.tries, err = s.count(ctx, "retry_count > 0"); err == nil {
		t.doubts, err = s.count(ctx, "doubts > 0")
	}
	there, thereErr := s.keys(ctx)
	for _, text := range s.made {
		if s.came[text] == 0 || !there[text] {
			t.lost++
		}
	}
	for _, n := range s.came {
		if n > 1 {
			t.doubled++
		}
	}
	return t, errors.Join(err, thereErr)
}

// keys are the messages that the database has.
func (s *sender) keys(ctx context.Context) (map[string]bool, error) {
	rows, err := s.store.DB().QueryContext(ctx, "SELECT partition_key FROM "+strings.ToLower(s.name)+".outgoing_message")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	there := map[string]bool{}
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		there[key] = true
	}
	return there, rows.Err()
}

func (s *sender) close() (err error) {
	if s.stop != nil {
		err = s.stop()
	}
	return errors.Join(err, s.store.Close())
}
