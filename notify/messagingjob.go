package notify

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// MessagingJob coordinates a campaign or a report whose recipients and payload
// are in a blob, named and never embedded (Communication - Codebase flow,
// "Campaign"). A caller of EnsureMessagingJob fills in the fields down to
// AudienceSize, with Scope, Type (the notification type, required) and Lane of
// the Record.
type MessagingJob struct {
	storage.Record
	// GUID is the identity: keys.MessagingJobGUID for a report.
	GUID         string `db:"guid,fixed"`
	BusinessUnit string `db:"business_unit,fixed"`
	// Blob names the payload. A retry whose payload has the same content uses
	// the stored blob; another content is a conflict.
	Blob storage.Ref `db:"blob,fixed,json"`
	// ContentHash is the payload's; empty means the blob's SHA-256.
	ContentHash string `db:"content_hash,fixed"`
	// InputHash says what the job stands for; empty means the content alone does.
	InputHash string `db:"input_hash,fixed"`
	// AudienceSize is how many recipients the payload has, as PutAudience tells.
	// Zero means that nobody knows; then no time left is estimated.
	AudienceSize int `db:"audience_size,fixed"`

	CreatedOn time.Time `db:"created_on,fixed"`
	Generation
	Tries
	SupportHold
}

var messagingJobs = storage.Define[MessagingJob]("messaging_job")
