package report

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/belfry-go/belfry/automation"
)

// Builder makes the report of a run. It is called from several goroutines, and
// again for the same run whenever a try has failed or what it made could not be
// stored. It changes nothing.
type Builder interface {
	// Build says what the report is made of; the parts are written afterwards. ctx
	// ends when the lease of the run is lost or the process stops, for the parts as
	// well. An error fails the try; see automation.Permanent.
	Build(ctx context.Context, run Run) (Report, error)
}

// BuilderFunc is a Builder made of a function.
type BuilderFunc func(ctx context.Context, run Run) (Report, error)

// Build calls f.
func (f BuilderFunc) Build(ctx context.Context, run Run) (Report, error) { return f(ctx, run) }

// Run is one run of a subscription, as it is at this moment.
type Run struct {
	// Key is the scheduler key.
	Key          string
	Subscription Subscription
	// Manual is the id of a run that a person asked for; empty: the cadence did.
	Manual string
	// ScheduledOn is the moment in UTC, LocalDate and LocalTime ("09:00", "09:00:30"
	// of a run that was asked for) what the clocks of Zone show, or what the cadence says where clocks skip it.
	ScheduledOn time.Time
	LocalDate   automation.Date
	LocalTime   string
	Zone        string
	// Attempt is 1 for the first try.
	Attempt int
}

// Report is what a Builder made.
type Report struct {
	// Empty says that there is nothing to report; see Delivery.SendEmpty.
	Empty bool
	// Parts are its files, at most 8.
	Parts []Part
	// Data is for the template, which finds it as {{.Report.Data}}: a few totals,
	// encoded as JSON of at most 4 KiB.
	Data any
	// Summary is for support, in a line of at most 200 bytes. No personal data.
	Summary string
}

// Part is one file of a report.
type Part struct {
	// Name is the file name that recipients see, MediaType as in "text/csv". Both are
	// required, of a Body too.
	Name, MediaType string
	// ContentID makes it a picture that the HTML shows as "cid:{ContentID}".
	ContentID string
	// Body makes it the message's own text, instead of a file: one part of
	// "text/html" and one of "text/plain" at most. What the template says in that
	// place is not sent.
	Body bool
	// Write gives the content. It is called once and streamed, so a part may be
	// larger than memory; an error of w (too much, or the run is over) ends it.
	Write func(ctx context.Context, w io.Writer) error
}

// encoded is Data as JSON.
func (r Report) encoded() (json.RawMessage, error) {
	if r.Data == nil {
		return nil, nil
	}
	return json.Marshal(r.Data)
}
