package automation

import (
	"context"
	"errors"
	"time"
)

// minRetention keeps rows for as long as messages may be on their way, since
// those are checked against the row before they go out.
const minRetention = 24 * time.Hour

// Retention says when ended rows of a type are deleted. The zero value keeps
// them for ever. Rows that are open or on support hold always stay, and so does
// the audit of what support did, and the history by source (automation_job).
//
// A row is the memory that keeps its work from happening twice, so it also stays
// for as long as somebody could ask for its key again:
//
//   - a date-based one until its moment is further back than CatchUp under every
//     zone and time of day, and two weeks longer where there is a BusinessDay:
//     from then on whoever asks is told OffsetPassed
//   - a recurring one until its occurrence is further back than CatchUp
//   - a threshold under OncePerDay until its day is over, in every zone, for
//     longer than CatchUp
//   - one under FalseToTrue until its condition has risen once more
//   - any other threshold, and the types that hosts add, for ForgetAfter
//
// CatchUp counts as a day where it is shorter. One that is made longer later
// than rows were deleted asks for them again.
type Retention struct {
	// After is how long a row stays after its end, at least a day. Zero: for ever.
	After time.Duration
	// ForgetAfter is how long after the end of a row its key may still be asked
	// for, where nothing else says so: for a threshold, whether it may fire once
	// more then. Zero: for ever, so that the rows stay.
	ForgetAfter time.Duration
	// Archive is given the rows before they are deleted, at most 1000 at once; nil:
	// they are just deleted. After an error they stay for another day. It may be
	// called again for the same rows, and in any process.
	Archive func(ctx context.Context, rows []Schedule) error
}

func (r Retention) check() error {
	switch {
	case r.After < 0 || r.ForgetAfter < 0:
		return errors.New("a negative Retention")
	case r.After == 0 && (r.ForgetAfter > 0 || r.Archive != nil):
		return errors.New("a Retention without After")
	case r.After > 0 && r.After < minRetention:
		return errors.New("a Retention of less than a day")
	}
	return nil
}

// Retained gives the rows of a handler's type a [Retention]. It panics on a nil
// handler, or a retention that makes no sense.
func Retained(h Handler, r Retention) Handler {
	if h == nil {
		panic("automation: Retained without a handler")
	}
	if err := r.check(); err != nil {
		panic("automation: Retained: " + err.Error())
	}
	return retained{h, r}
}

type retained struct {
	Handler
	retention Retention
}

func (r retained) unwrap() Handler { return r.Handler }
