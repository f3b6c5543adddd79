// Package frequency is the table of recipients' recent messages. The frequency cap of
// package gate counts in it, and an erasure deletes from it.
package frequency

import (
	"cmp"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Row lists a recipient's recent messages. Its Key is the recipient. It is never due.
type Row struct {
	storage.Record
	Messages []Counted `db:"messages,json,content"`
}

// Counted is one message, at the moment at which it was last let through.
type Counted struct {
	ID   string    `json:"id"`
	On   time.Time `json:"on"`
	Of   string    `json:"of,omitempty"` // what it reminds of
	Type string    `json:"type,omitempty"`
}

// About is what a message and its reminders have in common.
func (c Counted) About() string { return cmp.Or(c.Of, c.ID) }

// Table has the rows.
var Table = driver.Define[Row]("recipient_frequency").Grows(driver.WithEntities).
	Kept(driver.Always, "one a recipient, as far back as a cap looks").Limit(256 << 10)
