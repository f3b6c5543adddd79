package notify

import (
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/internal/pause"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Extent is the part of the sending that a [Pause] concerns: a type of
// notification, a channel, or everything, in one scope or everywhere. The zero
// value is all that the empty scope sends.
type Extent struct {
	Scope Scope // the tenant; empty if Everywhere
	// Everywhere means every scope.
	Everywhere bool
	// Type is a type of notification, Channel the key of a channel, whether this
	// process knows them or not. At most one of them is set.
	Type, Channel string
}

// row names the part in the table of pauses.
func (e Extent) row() (pause.Row, error) {
	key := "all"
	switch {
	case e.Everywhere && e.Scope != "":
		return pause.Row{}, errors.New("notify: Extent: a Scope, and Everywhere")
	case e.Scope == storage.AnyScope:
		return pause.Row{}, errAnyScope
	case e.Type != "" && e.Channel != "":
		return pause.Row{}, errors.New("notify: Extent: a Type, and a Channel")
	case e.Type != "":
		key = "type:" + e.Type
	case e.Channel != "":
		key = "channel:" + e.Channel
	}
	if e.Everywhere {
		key = "everywhere:" + key
	}
	if _, err := keys.Join(key); err != nil {
		return pause.Row{}, fmt.Errorf("notify: Extent: %w", err)
	}
	return pause.Row{
		Record:     storage.Record{Scope: e.Scope, Key: key, Type: e.Channel},
		Everywhere: e.Everywhere, PausedType: e.Type,
	}, nil
}

func extentOf(p *pause.Row) Extent {
	return Extent{Scope: p.Scope, Everywhere: p.Everywhere, Type: p.PausedType, Channel: p.Type}
}

// covers reports whether the message of an attempt belongs to e.
func (e Extent) covers(a *Attempt) bool {
	return (e.Everywhere || e.Scope == a.Scope) &&
		(e.Type == "" || e.Type == a.NotificationType) && (e.Channel == "" || e.Channel == a.Channel)
}
