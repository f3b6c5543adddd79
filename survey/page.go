package survey

import (
	"errors"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/storage"
)

// Page is a part of a list.
type Page struct {
	// After is where the page before ended: what its call returned beside the rows, or,
	// of [Service.Instances], the Key of the last one. Empty begins at the beginning.
	After string
	// Limit is at most so many; default 100, at most 1000.
	Limit int
}

func (p Page) limit() int {
	if p.Limit <= 0 {
		return 100
	}
	return min(p.Limit, 1000)
}

var errNoRow = errors.New("survey: a scope or page that no row has")

// checkScope refuses what is no scope of one tenant.
func checkScope(scope Scope) error {
	if scope == storage.AnyScope || !storable.Text(string(scope)) {
		return errNoRow
	}
	return nil
}
