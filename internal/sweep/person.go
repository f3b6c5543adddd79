package sweep

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage"
)

// Person identifies a person to erase or export. At least one field is required. Data
// that has none of these ids is not found.
type Person struct {
	// Ref is the host's id, as recipients and reminders have it.
	Ref string `json:"ref,omitempty"`
	// Addresses belong to this person alone; include former ones. Rows with another Ref
	// belong to another person, whatever their address.
	Addresses []Address `json:"addresses,omitempty"`
	// Inboxes are "user:{id}" and "employee:{guid}".
	Inboxes []string `json:"inboxes,omitempty"`
	// Entities are the host's objects that concern this person alone, in addition to those
	// of the hook.
	Entities []Entity `json:"entities,omitempty"`
}

// Address is one of a delivery method, in any spelling that the method takes.
type Address struct {
	Method  string `json:"method"` // "email"
	Address string `json:"address"`
}

// Entity is an object in the host's data that jobs and reminders are about.
type Entity struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// mostNamed bounds each list of a [Person].
const mostNamed = 100

// Check refuses an empty or invalid Person. Its error contains nothing of the person.
func (p Person) Check() error {
	if p.Ref == "" && len(p.Addresses)+len(p.Inboxes) == 0 {
		return errors.New("the person needs a Ref, an address or an inbox")
	}
	if max(len(p.Addresses), len(p.Inboxes), len(p.Entities)) > mostNamed {
		return fmt.Errorf("the person has more than %d addresses, inboxes or entities", mostNamed)
	}
	texts := append([]string{p.Ref}, p.Inboxes...)
	for i, a := range p.Addresses {
		if a.Method == "" || a.Address == "" {
			return fmt.Errorf("address %d has no method, or is empty", i+1)
		}
		texts = append(texts, a.Method, a.Address)
	}
	for i, e := range p.Entities {
		if e.Type == "" || e.ID == "" {
			return fmt.Errorf("entity %d has no type or no id", i+1)
		}
		texts = append(texts, e.Type, e.ID)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return errors.New("a text of the person is not valid UTF-8, or contains a NUL")
		}
	}
	return nil
}

// Subject is a person as the rules look for them, in one tenant.
type Subject struct {
	Scope storage.Scope
	Person
	again map[string][]int64 // ids of rows, by table, that the last sweep had to leave
}

// Count says what happened to rows.
type Count struct {
	Deleted int `json:"deleted,omitempty"`
	Emptied int `json:"emptied,omitempty"` // the key stays, so that nothing is made again
	Cut     int `json:"cut,omitempty"`     // only the person's part was removed
}

// Any reports whether there is anything.
func (c Count) Any() bool { return c != Count{} }

// Add sums counts.
func (c Count) Add(o Count) Count {
	return Count{c.Deleted + o.Deleted, c.Emptied + o.Emptied, c.Cut + o.Cut}
}

func (c *Count) count(v Verdict) {
	switch v {
	case Delete:
		c.Deleted++
	case Empty:
		c.Emptied++
	case Cut:
		c.Cut++
	case Keep, Wait:
	}
}

// Report says what an erasure has done or would do.
type Report struct {
	// ID names it in the audit; empty for a dry run.
	ID    string        `json:"id,omitempty"`
	Scope storage.Scope `json:"scope,omitempty"`
	// Status is Open while rows are looked for, Landing until they were looked for again,
	// an hour later, for what was under way; then Done.
	Status string `json:"status,omitempty"`
	// Tables are those that were gone through, with what became of their rows.
	Tables map[string]Count `json:"tables"`
	// Waiting rows are claimed by a worker that may be calling a provider. They are erased
	// the next time, at NextOn.
	Waiting int       `json:"waiting"`
	NextOn  time.Time `json:"nextOn,omitzero"`
	// Kept lists what is kept by rule, or because no service of this process covers it.
	Kept []Kept `json:"kept,omitempty"`
}

// Kept is a column that is not emptied, and why; or a whole table, or a domain's.
type Kept struct {
	Table  string `json:"table"`
	Column string `json:"column,omitempty"`
	Why    string `json:"why"`
}
