package automation

import (
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/internal/pause"
	"github.com/belfry-go/belfry/storage"
)

// Extent is the part of the work that a pause concerns: one type or all of
// them, in one scope or everywhere. The zero value is all work of the empty
// scope.
type Extent struct {
	Scope Scope // the tenant; empty if Everywhere
	// Everywhere means every scope.
	Everywhere bool
	// Type is a reminder type or a host's automation type, whether it is
	// registered in this process or not; empty: all of them.
	Type string
}

var errAnyScope = errors.New("automation: support works in the scope of one tenant")

// check refuses what no pause can stand for.
func (e Extent) check() error {
	switch {
	case e.Everywhere && e.Scope != "":
		return errors.New("automation: Extent: a Scope, and Everywhere")
	case e.Scope == storage.AnyScope:
		return errAnyScope
	}
	if field, err := checkTenancy(e.Scope, ""); err != nil {
		return fmt.Errorf("automation: Extent: %s %w", field, err)
	}
	if e.Type == "" {
		return nil
	}
	if err := checkName(e.Type); err != nil {
		return fmt.Errorf("automation: Extent: Type: %w", err)
	}
	return nil
}

// key is unique within the scope, as no name of a type holds a colon.
func (e Extent) key() string {
	key := "all"
	if e.Type != "" {
		key = "type:" + e.Type
	}
	if e.Everywhere {
		key = "everywhere:" + key
	}
	return key
}

// row names the extent in the table of pauses.
func (e Extent) row() pause.Row {
	return pause.Row{Record: storage.Record{Scope: e.Scope, Key: e.key()}, Everywhere: e.Everywhere, PausedType: e.Type}
}

func extentOf(p *pause.Row) Extent {
	return Extent{Scope: p.Scope, Everywhere: p.Everywhere, Type: p.PausedType}
}

// covers reports whether rows of that type in that scope belong to e.
func (e Extent) covers(scope Scope, name string) bool {
	return (e.Everywhere || e.Scope == scope) && (e.Type == "" || e.Type == name)
}
