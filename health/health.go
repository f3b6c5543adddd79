// Package health has the answer of the domains' Health methods: due work, holds, unknown
// outcomes, dead letters and pauses. Its only personal data are the keys of lost series.
package health

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Summary is the state of the work at one time. Counts cover a limited number of rows,
// those that have been due or on hold for longest. Fields named Capped say that there may
// be more. String prints it for people.
type Summary struct {
	// On is the time of the summary, by the store's clock.
	On time.Time
	// Scope is the tenant; Everywhere means all tenants.
	Scope      storage.Scope
	Everywhere bool
	// Due lists the due rows by table, kind and lane, those that have waited for longest
	// first. DueCapped says that not all rows were read, so kinds may be missing.
	Due       []Due
	DueCapped bool
	// Holds counts the rows on support hold, by table and reason.
	Holds []Count
	// Doubts counts the sends of unknown outcome, by table and channel: those that wait for
	// a person, and those that Belfry will look up.
	Doubts []Count
	// DeadLetters counts the events that were given up, by subscriber.
	DeadLetters []Count
	// Pauses lists the pauses in force, at most a thousand of each domain.
	Pauses []Pause
	// Outages lists the stopped channels, at most a thousand.
	Outages []Outage
	// Lost lists the series without a next row, at most a hundred; a healthy system has
	// none.
	Lost []Lost
	// Skipped lists the types whose reconciliation could not plan some sources, at most a
	// hundred, the oldest first.
	Skipped []Skipped
	// Stuck lists the rows whose calls into the host's code exceed their limit, in this
	// process. Only Poller.Health fills it.
	Stuck []Stuck
	// Retention is the state of retention by table. Only Poller.Health fills it.
	Retention []Retention
	// Forgotten says which acknowledged commits the database has lost, until a person
	// releases it. Only Poller.Health fills it.
	Forgotten Forgotten
	// LeaseLosses is how many reminders this process has taken over from dead or stalled
	// workers since it started.
	LeaseLosses int64
}

// Due counts the due rows of one kind in one lane of a table.
type Due struct {
	Table string // as in the database, without its prefix: "outgoing_message"
	Kind  string // a type, a channel or a subscriber; may be empty
	Lane  int16
	// Rows is how many wait for a worker, Abandoned how many of them a dead worker has left.
	// Capped says that there may be more.
	Rows, Abandoned int
	Capped          bool
	// Held is how many a worker has now.
	Held int
	// OldestOn is the due time of the row that has waited for longest; zero if workers have
	// all rows.
	OldestOn time.Time
	// Served says that this process has a handler for the kind.
	Served bool
}

// Count is the number of rows of one kind or with one reason. Capped says that there may
// be more.
type Count struct {
	Table  string
	Kind   string // a channel or a subscriber; empty where Reason tells
	Reason string // a code; empty where Kind tells
	Rows   int
	Capped bool
	// OldestOn is when the first row was made, for rows on hold; otherwise zero.
	OldestOn time.Time
}

// Pause is a part of the work that is paused.
type Pause struct {
	Table      string
	Scope      storage.Scope // of one tenant; empty if Everywhere
	Everywhere bool
	Kind       string // a type or a channel; empty: all
	Since      time.Time
	Until      time.Time // zero: until it is resumed
}

// Outage is a stopped channel. Its messages wait, and Belfry tries it again by itself.
type Outage struct {
	Scope       storage.Scope // of the tenant whose channel it is; empty if Everywhere
	Everywhere  bool          // it is the channel that tenants share
	Channel     string        // its key
	Class, Code string        // of the last refusal, as package notify has them
	Since       time.Time
}

// Lost is an active series whose current occurrence is due and has no row, so it has
// stopped. To repair it, ensure its candidate again, by an event or by reconciliation.
type Lost struct {
	Scope storage.Scope
	Key   string // of the missing row
	Kind  string
	Since time.Time // the occurrence
}

// Skipped counts the sources that a type's reconciliation could not plan: the host's
// provider fails for them, or a candidate is refused. The next run begins with them.
type Skipped struct {
	Scope   storage.Scope
	Kind    string // the type of reminder
	Sources int
	Since   time.Time
}

// Stuck counts the rows of one kind whose calls into the host's code exceed their limit.
// Other workers may have taken the rows over.
type Stuck struct {
	Pass string
	Kind string // a type of reminder, a channel, a subscriber
	Rows int
	// Since is when the longest call got its rows.
	Since time.Time
}

// Forgotten says when the first and the last of the lost commits were made, and when a
// process noticed. The zero value means that no loss is known.
type Forgotten struct{ From, Until, NoticedOn time.Time }

// Retention is the state of retention in one table.
type Retention struct {
	Table   string
	KeptFor time.Duration // after their end; of the type with the shortest
	// AnnouncedOn is when the first deletion was announced; nothing is deleted before From.
	// Zero: no row was old enough yet.
	AnnouncedOn, From time.Time
	// The last run over the table, or the current one if Running: when it began, when one
	// last ended, and how many rows it made tombstones of or deleted.
	BegunOn, FinishedOn time.Time
	Running             bool
	Tombstones, Deleted int
}

// OldestOn is the due time of the row that has waited for longest; zero if none waits.
// Rows that a worker has do not wait.
func (s Summary) OldestOn() (oldest time.Time) {
	for _, d := range s.Due {
		if !d.OldestOn.IsZero() && (oldest.IsZero() || d.OldestOn.Before(oldest)) {
			oldest = d.OldestOn
		}
	}
	return oldest
}

// OldestDue is how long the oldest due row has waited.
func (s Summary) OldestDue() time.Duration {
	oldest := s.OldestOn()
	if oldest.IsZero() {
		return 0
	}
	return s.On.Sub(oldest)
}

// Unserved lists the due rows without a handler in this process. That is normal if
// another process has one.
func (s Summary) Unserved() []Due {
	var out []Due
	for _, d := range s.Due {
		if !d.Served {
			out = append(out, d)
		}
	}
	return out
}
