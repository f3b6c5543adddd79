// Package support answers the questions of a support desk: why did a person get a
// message, why not, and what has to be done. It combines what the three domains explain.
//
//   - [Desk.Story] tells what happened about a person, an entity or a row, and what will
//   - [Desk.Verdict] says in a sentence whether a person got something, and why not
//   - [Desk.Health] says what waits, and what needs a person, by cause
//   - [Desk.Act] releases, retries, cancels and settles, one or many, or says what it
//     would do
//
// Package supporthttp serves all of it over HTTP, with a console.
package support

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

// Scope is the tenant that a row belongs to; see [storage.Scope].
type Scope = storage.Scope

// By says who takes a support action and why; both are required.
type By = automation.By

// Options are the settings of a [Desk]. Store is required. A domain that is nil is left
// out.
type Options struct {
	Store      storage.Store
	Automation *automation.Scheduler
	Notify     *notify.Notifier
	Survey     *survey.Service
	Reports    *report.Service // for its subscriptions
	// Privacy erases people: the Poller's Privacy, over the same services. Nil: Erase is
	// refused.
	Privacy Privacy

	// Ticket is the address of a response's ticket in the host's own system; nil, and empty: there is
	// none. It is called from several goroutines.
	Ticket func(survey.WorkItem) string

	// Directory finds people by a typed text, such as a name; return as many as a person can
	// read. Nil: people are not found by name. The texts of its errors, and of those of
	// Entities, are never shown, since they may be personal.
	Directory func(ctx context.Context, scope Scope, text string) ([]Person, error)
	// Entities lists the entities of a person's reminders, such as the certificates of an
	// employee, at most MaxEntities. It is needed if candidates do not set their Person.
	// Nil: all candidates set it.
	Entities func(ctx context.Context, scope Scope, person string) ([]automation.Source, error)
}

// MaxEntities is the limit of entities of one person.
const MaxEntities = 20

// Person is a person in the host's data.
type Person struct {
	Ref  string // the host's id: a recipient's Ref, a Candidate's Person, a CustomerRef
	Name string // for people
}

// Desk answers a support desk. It is safe for concurrent use.
type Desk struct{ *core }

// core is shared by the parts of a desk (teller, lister, planner and others), each with
// the methods of its subject.
type core struct{ o Options }

// New makes a desk. It panics without a store.
func New(o Options) *Desk {
	if o.Store == nil {
		panic("support: New needs a store")
	}
	return &Desk{&core{o}}
}

func (c *core) now() time.Time { return driver.Now(c.o.Store) }
