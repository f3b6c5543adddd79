package belfry

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/storage"
)

// What [Privacy] takes and gives.
type (
	// Person is somebody as the host knows them.
	Person = sweep.Person
	// PersonAddress is one of their addresses.
	PersonAddress = sweep.Address
	// Entity is an object of the host's that reminders and jobs are about.
	Entity = sweep.Entity
	// ErasureReport says what was erased, and what stays.
	ErasureReport = sweep.Report
	// By says who acts and why; it names nobody who is erased.
	By = audit.By
)

// The statuses of an [ErasureReport].
const (
	ErasureOpen    = sweep.StatusOpen
	ErasureLanding = sweep.StatusLanding // what was under way is looked for again
	ErasureDone    = sweep.StatusDone
)

// PrivacyOptions have the host's own data follow. They should be the same in every
// process with a Poller. A hook may be called again for the same person; its errors and
// panics are not logged, since they may be personal.
type PrivacyOptions struct {
	// Entities are the objects that are about a person alone: what is planned for them is
	// cancelled, and what jobs say about them is emptied.
	Entities func(ctx context.Context, scope storage.Scope, p Person) ([]Entity, error)
	// Erased has the host erase its own rows, blobs and files. An error has it called again.
	Erased func(ctx context.Context, scope storage.Scope, p Person) error
}

// Privacy erases people, and shows what is known of them, in the tables of all services
// of a [Poller]. Its methods may be called from any number of goroutines.
type Privacy struct{ p *Poller }

// Privacy gives the answers to a person's wish to be shown, or forgotten.
func (p *Poller) Privacy() Privacy { return Privacy{p} }

// Erase removes what is known of a person in scope: from here on nothing that comes again
// for them is sent, what waits is cancelled, and rows are deleted, or emptied where their
// keys must go on to answer. Nothing is sent again because it was erased.
//
// It returns when all rows were looked at once. What a worker was at then is erased an
// hour later, by whichever Poller of the same services runs; [Privacy.Report] tells. After an
// error (that of ctx, too) the erasure is stored and goes on in a Poller, if the report has
// an ID; repeating the call is safe. The audit has who asked for it, not for whom.
func (v Privacy) Erase(ctx context.Context, scope storage.Scope, who Person, by By) (ErasureReport, error) {
	id, err := v.p.sweep.People.Begin(ctx, scope, who, by)
	if err != nil {
		return ErasureReport{}, fmt.Errorf("belfry: Erase: %w", err)
	}
	report, err := v.p.sweep.People.Finish(ctx, scope, id)
	if err != nil {
		report.ID, report.Scope = id, scope
		return report, fmt.Errorf("belfry: Erase: %w", err)
	}
	return report, nil
}

// Report tells how far an erasure has come; storage.ErrNotFound if scope has none with
// that ID.
func (v Privacy) Report(ctx context.Context, scope storage.Scope, id string) (ErasureReport, error) {
	report, err := v.p.sweep.People.Look(ctx, scope, id)
	if err != nil {
		return report, fmt.Errorf("belfry: Report: %w", err)
	}
	return report, nil
}

// Preview tells what [Privacy.Erase] would do now, and writes nothing.
func (v Privacy) Preview(ctx context.Context, scope storage.Scope, who Person) (ErasureReport, error) {
	report, err := v.p.sweep.People.Preview(ctx, scope, who)
	if err != nil {
		return report, fmt.Errorf("belfry: Preview: %w", err)
	}
	return report, nil
}

// Export writes what is known of a person, as [Privacy.Erase] would find it: a line of
// JSON for each row, {"table": …, "row": {column: value}}, without keys and tokens, empty
// columns, and what a row tells of others. Blobs are named, and opened by the store's. What
// the audit has of the rows is not in it.
func (v Privacy) Export(ctx context.Context, w io.Writer, scope storage.Scope, who Person) error {
	if err := v.p.sweep.People.Export(ctx, w, scope, who); err != nil {
		return fmt.Errorf("belfry: Export: %w", err)
	}
	return nil
}

// Admit lets messages to an erased person through again, who has come back. Nothing that
// was erased is.
func (v Privacy) Admit(ctx context.Context, scope storage.Scope, who Person, by By) error {
	if err := v.p.sweep.People.Admit(ctx, scope, who, by); err != nil {
		return fmt.Errorf("belfry: Admit: %w", err)
	}
	return nil
}

// Erasure is one line of the list that a host keeps outside of the database, as JSON, of
// whom it has had erased since its oldest backup.
type Erasure struct {
	Scope  storage.Scope `json:"scope,omitempty"`
	Person Person        `json:"person"`
}

// Reapply erases everybody on a list once more, in a database that was restored from a
// backup: an [Erasure] in JSON on each line. It tells how many were; the error says which
// line it ended at. Repeating it is safe.
func (v Privacy) Reapply(ctx context.Context, list io.Reader, by By) (erased int, err error) {
	lines := bufio.NewScanner(list)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var e Erasure
		if json.Unmarshal(lines.Bytes(), &e) != nil { // its error may show a part of the line
			err = errors.New("it is not an Erasure in JSON")
		} else {
			_, err = v.Erase(ctx, e.Scope, e.Person, by)
		}
		if err != nil {
			return erased, fmt.Errorf("belfry: Reapply, line %d: %w", n, err)
		}
		erased++
	}
	if err := lines.Err(); err != nil {
		return erased, fmt.Errorf("belfry: Reapply: %w", err)
	}
	return erased, nil
}
