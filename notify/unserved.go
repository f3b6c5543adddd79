package notify

import (
	"time"

	"github.com/belfry-go/belfry/internal/unserved"
)

// unservedPass puts on hold what no process can claim, since none has its type or its
// channel, and lets it go on when one has.
func (n *core) unservedPass() unserved.Pass {
	return unserved.Pass{
		Title: "notify.unserved", Store: n.store, After: n.options.UnclaimedAfter, Logger: n.options.Logger,
		Tables: []unserved.Watched{
			unserved.Table[scheduleRow]{
				Rows: schedules, Serves: n.registry.typeNames, Waiting: []string{StatusReady, StatusProcessing}, Hold: HoldUnserved,
				Stop:    func(now time.Time, s *scheduleRow) { s.unserved(now) },
				Abandon: func(now time.Time, s *scheduleRow) { s.abandoned(now) },
				Resume:  func(now time.Time, s *scheduleRow) { s.releaseHold(now) },
			},
			unserved.Table[jobRow]{
				Rows: jobs, Serves: n.registry.rendered, Waiting: []string{StatusReady, StatusGenerating}, Hold: HoldUnserved,
				Stop:    func(now time.Time, j *jobRow) { j.unserved(now) },
				Abandon: func(now time.Time, j *jobRow) { j.abandoned(now) },
				Resume:  func(now time.Time, j *jobRow) { j.releaseHold(now) },
			},
			unserved.Table[messagingJobRow]{
				Rows: messagingJobs, Serves: n.registry.rendered, Waiting: []string{StatusReady, StatusGenerating}, Hold: HoldUnserved,
				Stop:    func(now time.Time, j *messagingJobRow) { j.unserved(now) },
				Abandon: func(now time.Time, j *messagingJobRow) { j.abandoned(now) },
				Resume:  func(now time.Time, j *messagingJobRow) { j.releaseHold(now) },
			},
			unserved.Table[messageRow]{
				Rows: outgoingMessages, Serves: n.channelKeys, Waiting: []string{StatusCreated, StatusRetryReady, StatusSending}, Hold: HoldUnserved,
				Stop:    func(_ time.Time, m *messageRow) { m.unserved() },
				Abandon: func(now time.Time, m *messageRow) { m.abandoned(now) },
				Resume:  func(now time.Time, m *messageRow) { m.endHold(now) },
			},
		},
	}
}

// unserved is the hold of a row whose type nobody has.
func (t *tried[M]) unserved(now time.Time) {
	t.end(now, StatusFailed)
	t.ReasonCode = ReasonUnserved
	t.put(HoldUnserved)
}

// unserved is the hold of a message whose channel nobody has.
func (m *messageRow) unserved() {
	m.ReasonCode = ReasonUnserved
	m.putOnHold(HoldUnserved)
}
