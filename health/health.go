// Package health is what the Health methods of the domains answer with: what is due
// and waits, what is on hold, in doubt or given up, and what is paused. It has no
// personal data but the keys of lost series.
package health

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Summary is how work is doing at a moment. Counts are of the rows that were looked
// at: those of a bounded number that are due, or on hold, for longest. Where there
// was more it says so. String tells it to people.
type Summary struct {
	// Store is the name of the store, if its Poller has one. Only Poller.Health knows it.
	Store string
	// On is the moment, by the store's clock.
	On time.Time
	// Scope is the tenant that was asked about; Everywhere means all of them.
	Scope      storage.Scope
	Everywhere bool
	// Due are the rows that are due, by table, kind and lane, those that have waited
	// for longest first. DueCapped says that not all were looked at, so that kinds may
	// be missing.
	Due       []Due
	DueCapped bool
	// Holds are the rows on support hold, by table and reason.
	Holds []Count
	// Doubts are the sends of which nobody knows whether they happened, by table and
	// channel: those on hold for a person, and those that are due to be looked up.
	Doubts []Count
	// DeadLetters are what subscribers were not able to take, by subscriber.
	DeadLetters []Count
	// Pauses are those in force, at most a thousand of each domain.
	Pauses []Pause
	// Outages are the channels that take nothing, at most a thousand.
	Outages []Outage
	// Lost are the series that have no next row, at most a hundred; a healthy system
	// has none.
	Lost []Lost
	// Skipped are the types whose reconciliation was not able to plan some sources, at
	// most a hundred, the oldest first.
	Skipped []Skipped
	// Stuck are the rows that calls of the host's have had for longer than they may, in
	// this process. Only Poller.Health knows of them.
	Stuck []Stuck
	// Retention is how the tables are doing that old rows are forgotten in. Only
	// Poller.Health knows of them.
	Retention []Retention
	// Forgotten are the commits that the database is known to have forgotten although it
	// had acknowledged them, until somebody releases it. Only Poller.Health knows of them.
	Forgotten Forgotten
	// LeaseLosses is how many reminders this process has taken over from workers that
	// died or stalled, since it began.
	LeaseLosses int64
}

// Due are the due rows of one kind in one lane of a table.
type Due struct {
	Table string // as in the database, without its prefix: "outgoing_message"
	Kind  string // what serves them: a type, a channel or a subscriber; may be empty
	Lane  int16
	// Rows wait for a worker. Abandoned ones of them are left over from a worker that
	// is gone. Capped says that there may be more.
	Rows, Abandoned int
	Capped          bool
	// Held are those that a worker has at this moment.
	Held int
	// OldestOn is the due moment of the row that has waited for longest; zero if a
	// worker has all of them.
	OldestOn time.Time
	// Served says that this process serves the kind.
	Served bool
}

// Count is how many rows there are of one kind, or for one reason. Capped says that
// there may be more.
type Count struct {
	Table  string
	Kind   string // a channel or a subscriber; empty where Reason tells
	Reason string // a code; empty where Kind tells
	Rows   int
	Capped bool
	// OldestOn is when the first of rows on hold was made; zero of others.
	OldestOn time.Time
}

// Pause is a part of the work that is not begun for now.
type Pause struct {
	Table      string
	Scope      storage.Scope // of one tenant; empty if Everywhere
	Everywhere bool
	Kind       string // a type or a channel; empty: all
	Since      time.Time
	Until      time.Time // zero: until it is resumed
}

// Outage is a channel that takes nothing. What goes through it waits, and it comes back
// by itself.
type Outage struct {
	Scope       storage.Scope // of the tenant whose channel it is; empty if Everywhere
	Everywhere  bool          // it is the one that tenants share
	Channel     string        // its key
	Class, Code string        // of the last refusal, as package notify has them
	Since       time.Time
}

// Lost is an active series whose current occurrence has come and has no row that
// could run: nothing of it happens any more. To ensure its candidate again, by an
// event or by reconciliation, mends it.
type Lost struct {
	Scope storage.Scope
	Key   string // of the missing row
	Kind  string
	Since time.Time // the occurrence
}

// Skipped are sources that the reconciliation of a type could not plan: the host's
// provider fails for them, or a candidate is refused. Each run begins with them.
type Skipped struct {
	Scope   storage.Scope
	Kind    string // the type of reminder
	Sources int
	Since   time.Time
}

// Stuck are rows of one kind that calls of the host's have had for longer than they may,
// and have not given back. Others may have taken the rows over meanwhile.
type Stuck struct {
	Pass string
	Kind string // a type of reminder, a channel, a subscriber
	Rows int
	// Since is when the call that has lasted for longest got its rows.
	Since time.Time
}

// Forgotten says when the first and the last commit was made that is known to be gone, and
// when a process found out. The zero value: nothing is known to be gone.
type Forgotten struct{ From, Until, NoticedOn time.Time }

// Retention is how forgetting is doing in one table.
type Retention struct {
	Table   string
	KeptFor time.Duration // after their end; of the type with the shortest
	// AnnouncedOn is when it was first seen that rows would go; none does before From.
	// Zero: none were old enough yet.
	AnnouncedOn, From time.Time
	// The last walk over the table, or the one under way if Running: when it began, when
	// one last ended, and of how many rows it left a stub or nothing.
	BegunOn, FinishedOn time.Time
	Running             bool
	Tombstones, Deleted int
}

// OldestOn is the due moment of the row that has waited for longest; zero if none
// waits. Rows that a worker has do not wait.
func (s Summary) OldestOn() (oldest time.Time) {
	for _, d := range s.Due {
		if !d.OldestOn.IsZero() && (oldest.IsZero() || d.OldestOn.Before(oldest)) {
			oldest = d.OldestOn
		}
	}
	return oldest
}

// OldestDue is for how long the oldest due row has waited.
func (s Summary) OldestDue() time.Duration {
	oldest := s.OldestOn()
	if oldest.IsZero() {
		return 0
	}
	return s.On.Sub(oldest)
}

// Unserved are the due rows that this process does not serve. Where another process
// does, that is as it should be.
func (s Summary) Unserved() []Due {
	var out []Due
	for _, d := range s.Due {
		if !d.Served {
			out = append(out, d)
		}
	}
	return out
}
