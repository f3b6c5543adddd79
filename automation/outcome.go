package automation

import (
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Outcome is what a handler decided about one row. The zero value completes it.
type Outcome struct {
	// Err fails the try; see [Permanent]. Nothing else of the outcome counts then.
	Err error
	// Deactivate ends the row as no longer wanted, which is no failure; the reason
	// is kept with it. Result and Artifacts count as they do for a row that is
	// completed.
	Deactivate Reason
	// Result is kept with the row, merged with what is there.
	Result notify.DispatchResult
	Artifacts
}

// Artifacts are what has to exist once a row is settled. The pass ensures them
// in the transaction that settles the row, in the order of the fields. A
// conflict puts the row on support hold, and what would follow is left out.
type Artifacts struct {
	Candidates       []Candidate
	AutomationJobs   []notify.AutomationJob
	Jobs             []notify.Job
	MessagingJobs    []notify.MessagingJob
	Schedules        []notify.Schedule
	UserMessages     []notify.UserMessage
	OutgoingMessages []notify.OutgoingMessage
	// Blobs are what the artifacts name in their data; they are kept until then, at
	// least, or for ever if it is zero. A row whose artifacts are in conflict keeps
	// none.
	Blobs      []storage.Ref
	BlobsUntil time.Time
}

func (a *Artifacts) empty() bool {
	return len(a.Candidates)+len(a.AutomationJobs)+len(a.Jobs)+len(a.MessagingJobs)+len(a.Schedules)+
		len(a.UserMessages)+len(a.OutgoingMessages)+len(a.Blobs) == 0
}
