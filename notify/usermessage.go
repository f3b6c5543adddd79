package notify

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// UserMessage is one message in an inbox of the host's own application. It is
// never sent and never due. A caller of EnsureUserMessage fills in the fields
// down to SourceOn, with Scope and Type (the notification type, required) of
// the Record.
type UserMessage struct {
	storage.Record
	// PartitionKey is the inbox: keys.UserPartition or keys.EmployeePartition.
	PartitionKey string `db:"partition_key,fixed"`
	// RowKey sorts the newest first; empty means keys.UserMessageRow of SourceOn
	// and JobRowKey.
	RowKey string `db:"row_key,fixed"`
	// JobPartitionKey and JobRowKey are the notification job's coordinates.
	JobPartitionKey string `db:"job_partition_key,fixed"`
	JobRowKey       string `db:"job_row_key,fixed"`
	BusinessUnit    string `db:"business_unit,fixed"`
	RecipientRef    string `db:"recipient_ref,fixed"`
	// Content is what the first call says; later ones find it as it is.
	Content Content `db:"content,fixed,json"`
	// ContentHash is set where the caller supplies the content itself; another
	// one is a conflict then.
	ContentHash string `db:"content_hash,fixed"`
	InputHash   string `db:"input_hash,fixed"`
	// SourceOn is the stable time of the occasion, never the moment of writing,
	// or a repeat would make a second message.
	SourceOn time.Time `db:"source_on,fixed"`

	CreatedOn  time.Time `db:"created_on,fixed"`
	SeenOn     time.Time `db:"seen_on"`
	ReadOn     time.Time `db:"read_on"`
	ArchivedOn time.Time `db:"archived_on"`
}

var userMessages = storage.Define[UserMessage]("user_message")
