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

// The parameters and results of [Privacy].
type (
	// Person identifies a person by the host's ids and addresses.
	Person = sweep.Person
	// PersonAddress is an address of a person.
	PersonAddress = sweep.Address
	// Entity is an object in the host's data that reminders and jobs are about.
	Entity = sweep.Entity
	// ErasureReport says what was erased and what remains.
	ErasureReport = sweep.Report
	// By says who acts and why. It must not name the person who is erased.
	By = audit.By
)

// The statuses of an [ErasureReport].
const (
	ErasureOpen    = sweep.StatusOpen
	ErasureLanding = sweep.StatusLanding // rows that were being worked on are erased later
	ErasureDone    = sweep.StatusDone
)

// PrivacyOptions are the hooks for the host's own data. They should be the same in every
// process with a Poller. A hook may be called again for the same person. Its errors and
// panics are not logged, since they may be personal.
type PrivacyOptions struct {
	// Entities returns the objects that concern only this person. Their reminders are
	// cancelled, and their data in jobs is removed.
	Entities func(ctx context.Context, scope storage.Scope, p Person) ([]Entity, error)
	// Erased erases the host's own rows, blobs and files. After an error it is called again.
	Erased func(ctx context.Context, scope storage.Scope, p Person) error
}

// Privacy erases and exports the data of people, in the tables of all services of a
// [Poller]. It is safe for concurrent use.
type Privacy struct{ p *Poller }

// Privacy returns the functions for a person's requests to see or erase their data.
func (p *Poller) Privacy() Privacy { return Privacy{p} }

// Erase removes a person's data in scope. From then on new messages to them are not sent,
// waiting ones are cancelled, and rows are deleted, or anonymised where their keys are
// still needed. Nothing is sent again because its row was erased.
//
// It returns when all rows were visited once. Rows that a worker had at that time are
// erased an hour later, by any Poller of the same services; see [Privacy.Report]. After
// an error (including ctx's) the erasure is stored and a Poller finishes it, if the
// report has an ID; repeating the call is safe. The audit records who asked for it, not
// for whom.
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

// Report returns the progress of an erasure; storage.ErrNotFound if scope has none with
// that ID.
func (v Privacy) Report(ctx context.Context, scope storage.Scope, id string) (ErasureReport, error) {
	report, err := v.p.sweep.People.Look(ctx, scope, id)
	if err != nil {
		return report, fmt.Errorf("belfry: Report: %w", err)
	}
	return report, nil
}

// Preview says what [Privacy.Erase] would do now. It writes nothing.
func (v Privacy) Preview(ctx context.Context, scope storage.Scope, who Person) (ErasureReport, error) {
	report, err := v.p.sweep.People.Preview(ctx, scope, who)
	if err != nil {
		return report, fmt.Errorf("belfry: Preview: %w", err)
	}
	return report, nil
}

// Export writes the data that [Privacy.Erase] would find: a line of JSON for each row,
// {"table": …, "row": {column: value}}, without keys, tokens, empty columns, and data
// about other people. Blobs are named; open them with the store. Audit entries of the
// rows are not included.
func (v Privacy) Export(ctx context.Context, w io.Writer, scope storage.Scope, who Person) error {
	if err := v.p.sweep.People.Export(ctx, w, scope, who); err != nil {
		return fmt.Errorf("belfry: Export: %w", err)
	}
	return nil
}

// Admit allows messages to an erased person again. It restores nothing.
func (v Privacy) Admit(ctx context.Context, scope storage.Scope, who Person, by By) error {
	if err := v.p.sweep.People.Admit(ctx, scope, who, by); err != nil {
		return fmt.Errorf("belfry: Admit: %w", err)
	}
	return nil
}

// Erasure is one line of the host's list of erased people, as JSON. The host keeps the
// list outside the database, for as long as its oldest backup.
type Erasure struct {
	Scope  storage.Scope `json:"scope,omitempty"`
	Person Person        `json:"person"`
}

// Reapply erases the people on a list again, in a database that was restored from a
// backup. The list has an [Erasure] in JSON on each line. It returns how many were
// erased; the error says at which line it stopped. Repeating it is safe.
func (v Privacy) Reapply(ctx context.Context, list io.Reader, by By) (erased int, err error) {
	lines := bufio.NewScanner(list)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var e Erasure
		if json.Unmarshal(lines.Bytes(), &e) != nil { // its error may show a part of the line
			err = errors.New("the line is not an Erasure in JSON")
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
