package templates

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Table stores the tenants' own templates and is a [Source]. Each Put makes a new
// version. The newest version that is not withdrawn counts; old versions stay. It is safe
// for concurrent use; a bound copy (see WithTx) is not.
type Table struct {
	store  storage.Store
	tx     storage.Tx // of a bound copy
	memory *memory
}

// NewTable returns the templates in a store. Make one per process; it caches what it has
// read. It panics on a nil store.
func NewTable(store storage.Store) *Table {
	if store == nil {
		panic("templates: NewTable needs a store")
	}
	return &Table{store: store, memory: &memory{}}
}

// WithTx returns a copy that reads and writes in tx. It panics if tx is nil or belongs to
// another store.
func (t *Table) WithTx(tx storage.Tx) *Table {
	if tx == nil || !driver.Same(tx.Store(), t.store) {
		panic("templates: WithTx needs a transaction of the table's store")
	}
	bound := *t
	bound.tx = tx
	return &bound
}

func (t *Table) inTx(ctx context.Context, f func(storage.Tx) error) error {
	if t.tx != nil {
		return f(t.tx)
	}
	return t.store.InTx(ctx, f)
}

func (t *Table) read(ctx context.Context, f func(driver.Reader) error) error {
	if t.tx != nil {
		return f(t.tx)
	}
	return t.store.View(ctx, f)
}

// row is one version of the templates of a type, its Kind. The Key sorts the newest
// first. It is never due.
type row struct {
	storage.Record
	Number    int       `db:"number,fixed"`
	Set       Set       `db:"templates,fixed,json,content"`
	CreatedOn time.Time `db:"created_on,fixed"`
}

var rows = driver.Define[row]("message_template").Grows(driver.WithEntities).
	Kept(driver.Always, "what tenants have written").Erased("stays: it is for all recipients").Limit(1 << 20)

// Schemas lists the table of this package, so that adapters' tests can compare it with a
// live database.
func Schemas() []*driver.Schema { return []*driver.Schema{&rows.Schema} }

// The states of a version.
const (
	statusActive    = "Active"
	statusWithdrawn = "Withdrawn"
)

var machine = states.Machine{
	Name:     "MessageTemplate",
	Start:    []string{statusActive},
	Edges:    []states.Edge{{From: statusActive, To: statusWithdrawn, Event: "withdrawn by a person"}},
	Terminal: []string{statusWithdrawn},
}

// States returns the state machine of this package, for the documentation.
func States() []states.Machine { return []states.Machine{machine} }

// Limits: of the versions of a type, of a set in bytes, and of the list of Versions.
const (
	maxNumber = 999_999
	maxSet    = 512 << 10
	maxListed = 1000
)

func keyOf(notificationType string, number int) (string, error) {
	return keys.Join(notificationType, fmt.Sprintf("%06d", maxNumber-number))
}

// ofType selects the rows of a type: keys.Join puts U+001F between parts, and no part
// contains it.
func ofType(notificationType string) ([]driver.Cond, error) {
	prefix, err := keys.Join(notificationType)
	if err != nil {
		return nil, err
	}
	return driver.ChildrenOf(prefix), nil
}

// Put stores a set as the newest version of a type and returns the version. A set that
// equals the newest version returns that version. A set that does not compile, or has
// more than 512 KiB, is refused with all its faults, and nothing is written. The audit
// records who did it and why. Processes see it within five seconds.
func (t *Table) Put(ctx context.Context, scope storage.Scope, notificationType string, set Set, by notify.By) (version string, err error) {
	if err := by.Check(); err != nil {
		return "", err
	}
	set.Version = ""
	if _, err := set.compile(); err != nil {
		return "", err
	}
	if size := len(set.json()); size > maxSet {
		return "", fmt.Errorf("templates: the set has %d bytes, more than %d", size, maxSet)
	}
	err = driver.RetryStale("the templates", func() error {
		return t.inTx(ctx, func(tx storage.Tx) (err error) {
			version, err = t.put(ctx, tx, scope, notificationType, set, by)
			return err
		})
	})
	t.memory.forget(scope, notificationType)
	return version, err
}

func (t *Table) put(ctx context.Context, tx storage.Tx, scope storage.Scope, notificationType string, set Set, by notify.By) (string, error) {
	last, err := newest(ctx, tx, scope, notificationType)
	if err != nil {
		return "", err
	}
	r := &row{Number: 1, Set: set, CreatedOn: driver.Now(t.store)}
	if last != nil {
		r.Number = last.Number + 1
		if last.Status == statusActive && string(last.Set.json()) == string(set.json()) {
			return strconv.Itoa(last.Number), nil
		}
	}
	key, err := keyOf(notificationType, r.Number)
	if err != nil {
		return "", err
	}
	r.Record = storage.Record{Scope: scope, Key: key, Kind: notificationType, Status: statusActive}
	isNew, err := rows.Insert(ctx, tx, r)
	switch {
	case err != nil:
		return "", err
	case !isNew[0]: // a concurrent Put made this version
		return "", storage.ErrStale
	}
	return strconv.Itoa(r.Number), audit.Write(ctx, tx, &audit.Entry{
		Record: storage.Record{Scope: scope}, Subject: rows.Name, SubjectKey: key, SubjectID: r.ID, SubjectVersion: r.Version,
		Action: "Put", Actor: by.Actor, Reason: by.Reason, To: statusActive, On: r.CreatedOn,
	})
}

// newest is the newest version that meets the conditions; nil: none.
func newest(ctx context.Context, from driver.Reader, scope storage.Scope, notificationType string, which ...driver.Cond) (*row, error) {
	within, err := ofType(notificationType)
	if err != nil {
		return nil, err
	}
	found, err := rows.Find(ctx, from, scope, driver.Query{Where: append(within, which...), OrderBy: "key", Limit: 1})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// Withdraw ends a version; the previous one counts again. Rendered messages keep their
// texts. A version that was already withdrawn is a [notify.ErrActionRefused].
func (t *Table) Withdraw(ctx context.Context, scope storage.Scope, notificationType, version string, by notify.By) error {
	key, err := parseKey(notificationType, version)
	if err != nil {
		return err
	}
	err = t.inTx(ctx, func(tx storage.Tx) error {
		return audit.Change(ctx, tx, rows, scope, key, "Withdraw", by, func(r *row, _ time.Time) (refused string) {
			if r.Status != statusActive {
				return "the version is already withdrawn"
			}
			machine.Must(r.Status, statusWithdrawn)
			r.Status = statusWithdrawn
			return ""
		})
	})
	t.memory.forget(scope, notificationType)
	return err
}

// Version is one version of the templates of a type.
type Version struct {
	Version   string
	CreatedOn time.Time
	Withdrawn bool
}

// Versions lists the last thousand versions of a type, the newest first.
func (t *Table) Versions(ctx context.Context, scope storage.Scope, notificationType string) ([]Version, error) {
	within, err := ofType(notificationType)
	if err != nil {
		return nil, err
	}
	var found []*row
	err = t.read(ctx, func(from driver.Reader) (err error) {
		found, err = rows.Find(ctx, from, scope, driver.Query{Columns: []string{"status", "number", "created_on"}, Where: within, OrderBy: "key", Limit: maxListed})
		return err
	})
	out := make([]Version, len(found))
	for i, r := range found {
		out[i] = Version{strconv.Itoa(r.Number), r.CreatedOn, r.Status == statusWithdrawn}
	}
	return out, err
}

// At returns a version of a type, withdrawn or not; [storage.ErrNotFound] if it does not
// exist.
func (t *Table) At(ctx context.Context, scope storage.Scope, notificationType, version string) (set Set, err error) {
	key, err := parseKey(notificationType, version)
	if err != nil {
		return set, err
	}
	err = t.read(ctx, func(from driver.Reader) error {
		r, err := rows.Get(ctx, from, scope, key)
		if err == nil {
			set = r.set()
		}
		return err
	})
	return set, err
}

func parseKey(notificationType, version string) (string, error) {
	number, err := strconv.Atoi(version)
	if err != nil || number < 1 || number > maxNumber || strconv.Itoa(number) != version {
		return "", fmt.Errorf("templates: %.40q is not a version: %w", version, storage.ErrNotFound)
	}
	return keyOf(notificationType, number)
}

func (r *row) set() Set {
	set := r.Set
	set.Version = strconv.Itoa(r.Number)
	return set
}

// Templates returns the current templates. They are cached for five seconds.
func (t *Table) Templates(ctx context.Context, scope storage.Scope, notificationType string) (Set, error) {
	now := driver.Now(t.store)
	if set, ok := t.memory.known(scope, notificationType, now); ok && t.tx == nil {
		return set, nil
	}
	var set Set
	err := t.read(ctx, func(from driver.Reader) error {
		r, err := newest(ctx, from, scope, notificationType, driver.Eq("status", statusActive))
		if r != nil {
			set = r.set()
		}
		return err
	})
	if err == nil && t.tx == nil {
		t.memory.keep(scope, notificationType, set, now)
	}
	return set, err
}

// memory caches recent reads of the table.
type memory struct {
	mu   sync.Mutex
	sets map[driver.ScopedKey]remembered
}

type remembered struct {
	set Set
	on  time.Time
}

const remember = 5 * time.Second

func (m *memory) known(scope storage.Scope, notificationType string, now time.Time) (Set, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.sets[driver.ScopedKey{Scope: scope, Key: notificationType}]
	return r.set, ok && now.Sub(r.on) < remember
}

func (m *memory) keep(scope storage.Scope, notificationType string, set Set, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sets == nil || len(m.sets) >= maxCompiled {
		m.sets = map[driver.ScopedKey]remembered{}
	}
	m.sets[driver.ScopedKey{Scope: scope, Key: notificationType}] = remembered{set, now}
}

func (m *memory) forget(scope storage.Scope, notificationType string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sets, driver.ScopedKey{Scope: scope, Key: notificationType})
}

var _ Source = (*Table)(nil)
