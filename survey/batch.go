package survey

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/belfry-go/belfry/keys"
)

// Batch is what [Service.Ingest] takes: events of one kind.
type Batch struct {
	Scope     Scope  `json:"-"` // the host's to say, never the caller's
	EventKind string `json:"eventKind"`
	// Items may be any number; they are taken 500 in a transaction.
	Items []Item `json:"items"`
}

// Item is one event and who is asked about it.
type Item struct {
	// Payload is a JSON object of at most 24 KiB and 32 levels; its values are the
	// paths candidate.*, those of objects inside it with dots: candidate.car.vin.
	Payload   json.RawMessage `json:"payload"`
	Recipient Recipient       `json:"recipient"`
	// OccurredOn is the moment of the event; zero: that of the ingest.
	OccurredOn time.Time `json:"occurredOn,omitzero"`
}

// Recipient is who gets the link. No field holds control characters.
type Recipient struct {
	// Address is what the channel sends to, in at most 320 bytes, kept as it is
	// written: a recipe tells "+964 770" from "+964770".
	Address string `json:"address"`
	// Locale is that of the text, a BCP 47 tag of at most 64 bytes. It may be empty.
	Locale string `json:"locale,omitempty"`
	// CustomerRef is the host's id of the customer, in at most 200 bytes. Without
	// one the customer's data is not found by [Service.Erase].
	CustomerRef string `json:"customerRef,omitempty"`
}

// check refuses what makes no batch at all.
func (b *Batch) check() error {
	if err := checkScope(b.Scope); err != nil {
		return err
	}
	if _, err := keys.Join(b.EventKind); err != nil || len(b.EventKind) > keys.MaxPartLen {
		return errors.New("the event kind has to have 1 to 200 bytes of UTF-8 without control characters")
	}
	return nil
}
