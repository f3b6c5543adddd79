package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// callTakes is how long the provider takes under load, so that calls are under way
// whenever trouble begins.
const callTakes = 200 * time.Millisecond

// away is a day on which the database is gone for minutes: PostgreSQL is stopped, and of
// a SQLite file another process holds the write lock.
func away(ctx context.Context, g *ground) ([]figure, error) {
	return g.underLoad(ctx, fmt.Sprintf("%v without the database:", g.away), func(ctx context.Context, dsn string) error {
		if isPostgres(dsn) {
			return errors.Join(g.server.Stop(), pass(ctx, g.away), g.server.Start())
		}
		other, err := open(ctx, dsn, nil)
		if err != nil {
			return err
		}
		for { // as long as others have the lock
			tx, err := other.DB().BeginTx(ctx, nil)
			if err == nil {
				return errors.Join(pass(ctx, g.away), tx.Rollback(), other.Close())
			}
			if err := pass(ctx, time.Millisecond); err != nil {
				return errors.Join(err, other.Close())
			}
		}
	})
}

// slots is a day on which another client takes all connections of the server. Deliberate
// fault: "I-10 a server without slots is not an outage".
func slots(ctx context.Context, g *ground) ([]figure, error) {
	return g.underLoad(ctx, fmt.Sprintf("%v without connection slots:", g.slots), func(ctx context.Context, dsn string) (err error) {
		db, err := sql.Open("postgres", dsn+"&application_name="+hogName)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		return hog(ctx, db, g.slots)
	})
}

// hogName is how the client that takes all connections is known.
const hogName = "hog"

// hog takes every connection of a server, those that others have included, and keeps
// them for so long.
func hog(ctx context.Context, db *sql.DB, during time.Duration) error {
	mine, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	var alone time.Time
	for began := wall.Now(); alone.IsZero() || wall.Since(alone) < during; {
		if wall.Since(began) > during+patience {
			return errors.New("others had connections all the time")
		}
		others := 0
		err = mine.QueryRowContext(ctx, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> '"+
			hogName+"'").Scan(&others)
		if err = errors.Join(err, grab(ctx, db, 20*time.Millisecond)); err != nil {
			return err
		}
		if others == 0 && alone.IsZero() {
			alone = wall.Now()
		}
	}
	return mine.Close()
}

// grab takes connections for so long, as soon as they become free: others wait for them
// too. They are closed with db.
func grab(ctx context.Context, db *sql.DB, during time.Duration) error {
	for began := wall.Now(); wall.Since(began) < during; {
		if _, err := db.Conn(ctx); err == nil {
			continue
		}
		if err := pass(ctx, 100*time.Microsecond); err != nil {
			return err
		}
	}
	return nil
}

func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wall.After(d):
		return nil
	}
}

// underLoad sends messages before, during and after trouble, and accounts for them.
func (g *ground) underLoad(ctx context.Context, what string, trouble func(ctx context.Context, dsn string) error) (figures []figure, err error) {
	err = g.with(ctx, nil, func(s store, dsn string) error {
		l := &load{g: g}
		l.out = notify.New(s, &notify.Options{Logger: g.log}, channel.Func(wellKey, func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			if err := pass(ctx, callTakes); err != nil {
				return channel.Receipt{}, err
			}
			l.add(m.Name)
			return channel.Receipt{ID: m.ID}, nil
		}))
		register(l.out)
		stop := g.run(ctx, s, belfry.Options{Lease: g.lease}, l.out)
		err := l.through(ctx, func() error { return trouble(ctx, dsn) })
		if err == nil {
			err = l.rest(ctx, s)
		}
		if err = errors.Join(err, stop()); err != nil {
			return err
		}
		held, err := doubts(ctx, s)
		figures = []figure{
			none(fmt.Sprintf("%s avoidable doubts (%d messages)", what, len(l.said)), held),
			none(what+" messages sent twice", l.more),
		}
		return err
	})
	return figures, err
}

// load are messages that flow all the time.
type load struct {
	arrivals
	g    *ground
	out  *notify.Notifier
	said []string // what the store has taken
}

// through lets messages flow before, during and after trouble.
func (l *load) through(ctx context.Context, trouble func() error) error {
	flowing, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- l.flow(flowing) }()
	err := pass(ctx, time.Second)
	if err == nil {
		err = errors.Join(trouble(), pass(ctx, time.Second))
	}
	end()
	return errors.Join(err, <-ended)
}

// flow says a message every few milliseconds. What the store refuses or does not answer
// in time is lost to the host, which knows it.
func (l *load) flow(ctx context.Context) error {
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprint("load-", i)
		brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		_, err := l.out.Notify(brief, job("acme", newsType, wellKey, name, name))
		cancel()
		switch {
		case err == nil:
			l.said = append(l.said, name)
		case !passing(err):
			return err
		}
		_ = pass(ctx, 5*time.Millisecond)
	}
	return nil
}

func passing(err error) bool {
	for _, e := range []error{storage.ErrUnavailable, storage.ErrBusy, storage.ErrOutcomeUnknown, context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// rest waits until no call is open, and until all has arrived that does not wait for a
// later try.
func (l *load) rest(ctx context.Context, s store) error {
	return until(ctx, "no message is under way", func() (bool, error) {
		n, err := count(ctx, s, "SELECT count(*) FROM outgoing_message WHERE status IN ('"+notify.StatusSending+"', '"+notify.StatusCreated+"')")
		if n > 0 || err != nil {
			return false, err
		}
		lost, err := l.lost(ctx, s)
		return lost <= 0, err
	})
}

// lost counts what the store has taken and neither sent nor keeps for later or for a
// person.
func (l *load) lost(ctx context.Context, s store) (int, error) {
	held, err := doubts(ctx, s)
	if err != nil {
		return 0, err
	}
	lost := len(l.said) - l.total() - held
	for _, table := range []string{"notification_scheduler", "notification_job", "outgoing_message"} {
		n, err := count(ctx, s, "SELECT count(*) FROM "+table+" WHERE due_on IS NOT NULL")
		if err != nil {
			return 0, err
		}
		lost -= n
	}
	return lost, nil
}

// until asks again and again, also where a question fails: right after trouble the
// database may not answer yet. What stays is said.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	var last error
	for end := wall.Now().Add(patience); wall.Now().Before(end); {
		ok, err := holds()
		if last = err; ok && err == nil {
			return nil
		}
		if err := pass(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.Join(fmt.Errorf("not within %v: %s", patience, what), last)
}

// doubts counts the messages of unknown outcome.
func doubts(ctx context.Context, s store) (int, error) {
	return count(ctx, s, "SELECT count(*) FROM outgoing_message WHERE status = '"+notify.StatusOutcomeUnknown+"'")
}

func count(ctx context.Context, s store, query string) (n int, err error) {
	err = s.DB().QueryRowContext(ctx, query).Scan(&n)
	return n, err
}
