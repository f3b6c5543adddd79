// Package support answers what a support desk asks: why did she get it, why did she
// not, and what has to be done. It stands on the three domains and composes what each
// of them explains.
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

// Options say what a [Desk] tells about. Store is required; a domain that is nil is left
// out.
type Options struct {
	Store      storage.Store
	Automation *automation.Scheduler
	Notify     *notify.Notifier
	Survey     *survey.Service
	Reports    *report.Service // for its subscriptions
	// Privacy erases people: that of the Poller over the same services. Nil: the desk
	// erases nobody.
	Privacy Privacy

	// Ticket is the address of a response's ticket in the host's own system; nil, and empty: there is
	// none. It is called from several goroutines.
	Ticket func(survey.WorkItem) string

	// Directory finds people by what somebody types, such as a name, in at most as many
	// answers as a person reads; nil: nobody is found by name. The text of its error, and of
	// that of Entities, is shown nowhere, since it may be personal.
	Directory func(ctx context.Context, scope Scope, text string) ([]Person, error)
	// Entities names what a person's reminders are about, where candidates do not say
	// their Person: the certificates of an employee. At most MaxEntities are asked about.
	// Nil: candidates say it.
	Entities func(ctx context.Context, scope Scope, person string) ([]automation.Source, error)
}

// MaxEntities bounds the entities of one person that are asked about.
const MaxEntities = 20

// Person is somebody whom the host knows.
type Person struct {
	Ref  string // the host's id: a recipient's Ref, a Candidate's Person, a CustomerRef
	Name string // for people
}

// Desk answers a support desk. Its methods may be called from any number of goroutines.
type Desk struct{ *core }

// core is what a desk and its parts stand on: a teller of stories, a lister, a planner of
// operations and the like, each with the methods of its subject.
type core struct{ o Options }

// New makes a desk. It panics without a store.
func New(o Options) *Desk {
	if o.Store == nil {
		panic("support: New needs a store")
	}
	return &Desk{&core{o}}
}

func (c *core) now() time.Time { return driver.Now(c.o.Store) }
