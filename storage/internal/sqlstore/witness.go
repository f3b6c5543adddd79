package sqlstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// witness is a row as a transaction left it that was acknowledged: it was there, in that
// version. A database in which it is older, or missing, has forgotten the transaction.
//
// A position of the log would not do: it is ahead of what was acknowledged, and the next
// primary passes it within moments. A counter of its own would have to be written with
// each commit. Witnesses cost no statement until the server may have changed.
type witness struct {
	schema  *driver.Schema
	at      driver.ScopedKey
	id      int64
	version int64
	on      time.Time
	n       int64 // of the commits of this store
}

const (
	// witnesses bounds those that are kept: of the last half each commit, of those before
	// fewer and fewer, in steps that grow with their age.
	witnesses = 64
	// goneAfter is the age from which on a missing row may have been deleted.
	goneAfter = time.Hour
)

// memory is what a store remembers of its commits, oldest first.
type memory struct {
	suspect doubt // the server may be another one, or have gone back
	mu      sync.Mutex
	all     []witness
	n       int64 // commits so far
}

// lasting says that rows of s stay for long, since their keys keep a repeated wish from
// happening twice. Others may be deleted at any time.
func lasting(s *driver.Schema) bool {
	if s.Whole != nil {
		s = s.Whole
	}
	return slices.ContainsFunc(s.Columns, func(c driver.Column) bool { return c.Name == "forgotten_on" })
}

// wrote notes a row that the transaction has written: of an earlier one nothing is known.
func (x *tx) wrote(s *driver.Schema, r *driver.Record) {
	if r.Version > 1 || lasting(s) {
		x.last = witness{schema: s, at: driver.ScopedKey{Scope: r.Scope, Key: r.Key}, id: r.ID, version: r.Version}
	}
}

// remember takes in what a committed transaction left.
func (s *Store) remember(x *tx) {
	if x.last.schema == nil && len(x.deleted) == 0 {
		return
	}
	m, now := &s.memory, driver.Now(s.cfg.Outer)
	m.mu.Lock()
	defer m.mu.Unlock()
	if x.last.on = now; x.last.schema != nil {
		m.n++
		x.last.n = m.n
		m.all = append(m.all, x.last)
	}
	for _, id := range x.deleted {
		m.all = slices.DeleteFunc(m.all, func(w witness) bool { return w.id == id })
	}
	if len(m.all) > witnesses {
		m.thin()
	}
}

// thin gives up one of the older half: the one between two that are closest to each other
// for their age.
func (m *memory) thin() {
	least, at := 0.0, 0
	for i := 1; i < witnesses/2; i++ {
		older, newer := m.all[i-1].n, m.all[i+1].n
		if step := float64(newer-older) / float64(m.n-older); at == 0 || step < least {
			least, at = step, i
		}
	}
	m.all = slices.Delete(m.all, at, at+1)
}

// recall compares the database with what it acknowledged, if the server may have changed,
// on a connection on which a transaction that writes has begun. Others wait for the answer.
func (s *Store) recall(ctx context.Context, c Runner) error {
	return s.memory.suspect.answer(ctx, func() error { return s.compare(ctx, c) })
}

func (s *Store) compare(ctx context.Context, c Runner) error {
	m := &s.memory
	all := m.forget(nil)
	there, err := s.present(ctx, c, all)
	if err != nil {
		if classOf(err) == Unknown && ctx.Err() == nil {
			m.forget(all) // a table is gone: it would fail for ever
		}
		return err
	}
	now := driver.Now(s.cfg.Outer)
	if lost, since := missing(all, there, now); len(lost) > 0 {
		m.forget(lost)
		s.losses.Note(driver.Loss{From: since, Until: lost[len(lost)-1].on, NoticedOn: now})
	}
	return nil
}

// forget takes some witnesses away, and returns the others.
func (m *memory) forget(some []witness) []witness {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = slices.DeleteFunc(m.all, func(w witness) bool { return slices.Contains(some, w) })
	return slices.Clone(m.all)
}

// row is one of a table.
type row struct {
	table string
	at    driver.ScopedKey
}

// present reads the id and version of the rows of witnesses.
func (s *Store) present(ctx context.Context, c Runner, all []witness) (map[row]driver.Record, error) {
	there, x := map[row]driver.Record{}, &tx{store: s, db: c}
	defer func() { x.err = errOver }()
	places := map[string][]driver.ScopedKey{}
	schemas := map[string]*driver.Schema{}
	for _, w := range all {
		name := w.schema.Name
		if schemas[name] = w.schema; !slices.Contains(places[name], w.at) {
			places[name] = append(places[name], w.at)
		}
	}
	for name, schema := range schemas {
		rows, err := x.Get(ctx, schema, places[name], []string{"version"})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			rec := driver.RecordOf(r)
			there[row{name, driver.ScopedKey{Scope: rec.Scope, Key: rec.Key}}] = *rec
		}
	}
	return there, nil
}

// missing are the witnesses that the database has forgotten, and since when it may have: the
// last one before them that is there, or the first of them. An older version is proof. A
// row that is not there is proof if all that came after it is gone as well, since what is
// lost is the end of a history: by itself it may have been deleted.
func missing(all []witness, there map[row]driver.Record, now time.Time) (lost []witness, since time.Time) {
	end := true
	for _, w := range slices.Backward(all) {
		rec, ok := there[row{w.schema.Name, w.at}]
		ok = ok && rec.ID == w.id
		switch {
		case ok && rec.Version >= w.version:
			if end = false; since.IsZero() && len(lost) > 0 {
				since = w.on
			}
		case ok, end && lasting(w.schema) && now.Sub(w.on) < goneAfter:
			lost, since = append(lost, w), time.Time{}
		}
	}
	slices.Reverse(lost)
	if len(lost) > 0 && since.IsZero() {
		since = lost[0].on
	}
	return lost, since
}

// Suspect says that the server may be another one, or its database an older one. The next
// transaction compares.
func (s *Store) Suspect() { s.memory.suspect.raise() }

// suspected says of the failure of a connection what it means to memory.
func (s *Store) suspected(class Class) {
	switch class {
	case Connection, ReadOnly:
		s.Suspect()
	}
}
