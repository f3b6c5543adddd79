package storage

import "time"

// Scope keeps tenants apart: it is part of every unique key and an argument of
// every read. The empty Scope is that of a host with a single tenant.
type Scope string

// AnyScope reads across tenants. Only look-ups by an unguessable value (a token
// hash, a message id), polls, retention and health counts may use it. No row has
// it.
const AnyScope Scope = "\x00any"

// Record is what every table has in common: how a row is found, held and
// written back. Structs embed it by value and add their business columns.
type Record struct {
	// ID breaks ties. It is not shown outside and promises no order of insertion.
	ID int64 `db:"id,fixed"`
	// Scope is the tenant.
	Scope Scope `db:"scope,fixed"`
	// Key is the business identity, unique within Scope and compared byte by byte.
	Key string `db:"key,fixed"`
	// Type is the registered name that serves the row. Every process serves rows
	// whose Type is empty: passes ask for them beside the types they know.
	Type string `db:"type"`
	// Status belongs to the owning package.
	Status string `db:"status"`
	// Version grows by one with every write except Extend. It is 1 after Insert.
	Version int64 `db:"version"`
	// Lane orders kinds of work: LaneUrgent, LaneNormal, LaneBulk or a host's own.
	Lane int16 `db:"lane,fixed"`
	// DueOn is the next moment anybody should look; zero means never.
	DueOn time.Time `db:"due_on"`
	// LeaseExpiresOn is zero unless the row is held. It protects against a crash
	// and never says which worker holds the row.
	LeaseExpiresOn time.Time `db:"lease_expires_on"`
	// ClaimToken is fresh for every claim and kept when the row is settled, so
	// that a worker whose reply was lost can tell whether its claim won.
	ClaimToken string `db:"claim_token"`
	// Abandoned is set by a claim that took over an expired lease.
	Abandoned bool `db:"abandoned"`
}

// The lanes that every table knows; hosts may add their own numbers.
const (
	LaneUrgent int16 = -1
	LaneNormal int16 = 0
	LaneBulk   int16 = 1
)

func (r *Record) record() *Record { return r }

// Row is a pointer to a struct that embeds [Record]. It is sealed: embedding
// Record is the only way to implement it.
type Row interface{ record() *Record }

// RecordOf returns the shared columns of r, for adapters and passes.
func RecordOf(r Row) *Record { return r.record() }
