package survey

import (
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/storage"
)

// Schemas lists the tables of this package, so that adapters' tests can compare
// them with a live database.
func Schemas() []*storage.Schema {
	return []*storage.Schema{
		&surveys.Schema, &versions.Schema, &triggers.Schema, &instances.Schema,
		&deliveries.Schema, &channelRows.Schema, &responses.Schema, &answers.Schema, &linkKeys.Schema,
	}
}

// States gives the state machines of this package, for the documentation.
func States() []states.Machine { return []states.Machine{machine} }
