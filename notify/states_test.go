package notify

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

var now = storetest.Start

// taken runs every transition method in every state of a machine and collects
// the edges that they take; one that the table forbids must panic.
func taken[R any](m states.Machine, row func(status string) *R, status func(*R) string, methods ...func(*R)) map[states.Edge]bool {
	edges := map[states.Edge]bool{}
	for _, from := range m.States() {
		for _, f := range methods {
			r := row(from)
			if !panics(func() { f(r) }) && status(r) != from {
				edges[states.Edge{From: from, To: status(r)}] = true
			}
		}
	}
	return edges
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// sameEdges compares the taken edges with the table; claims are taken by the store.
func sameEdges(t *testing.T, m states.Machine, got map[states.Edge]bool, busy string) {
	t.Helper()
	want := map[states.Edge]bool{}
	for _, e := range m.Edges {
		if e.To != busy {
			want[states.Edge{From: e.From, To: e.To}] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: edges of the table and of the methods differ (-table +methods):\n%s", m.Name, diff)
	}
}

func TestI16_TheMethodsTakeTheEdgesOfTheTableAndNoOthers(t *testing.T) {
	t.Parallel()
	sameEdges(t, scheduleStates, taken(scheduleStates,
		func(s string) *scheduleRow { r := &scheduleRow{}; r.Status = s; return r },
		func(r *scheduleRow) string { return r.Status },
		func(r *scheduleRow) { r.end(now, StatusDispatched) },
		func(r *scheduleRow) { r.skipped(now, "x") },
		inState(StatusProcessing, func(r *scheduleRow) { r.failed(now, "x") }),
		inState(StatusProcessing, func(r *scheduleRow) { r.RetryCount = 3; r.abandoned(now) }),
		func(r *scheduleRow) { r.released(now) },
		func(r *scheduleRow) { r.IsOnSupportHold = true; r.releaseHold(now) },
		inState(StatusReady, func(r *scheduleRow) { r.unserved(now) }),
		func(r *scheduleRow) { r.cancel(now) },
	), StatusProcessing)

	sameEdges(t, jobStates, taken(jobStates,
		func(s string) *jobRow { r := &jobRow{}; r.Status = s; return r },
		func(r *jobRow) string { return r.Status },
		func(r *jobRow) { r.wake(now, "") },
		func(r *jobRow) { r.wake(now, "x") },
		func(r *jobRow) { r.generated(now) },
		func(r *jobRow) { r.digested(now) },
		func(r *jobRow) { r.ReasonCode = reasons.NoRecipients; r.takeMore(now) },
		func(r *jobRow) { r.skipped(now, "x") },
		inJobState(func(r *jobRow) { r.failed(now, "x") }),
		inJobState(func(r *jobRow) { r.refused(now, "x") }),
		inJobState(func(r *jobRow) { r.abandoned(now) }),
		inJobState(func(r *jobRow) { r.released(now) }),
		func(r *jobRow) { r.IsOnSupportHold = true; r.releaseHold(now) },
		func(r *jobRow) {
			if r.Status == StatusReady {
				r.unserved(now)
			}
		},
		func(r *jobRow) { r.cancel(now) },
	), StatusGenerating)

	sameEdges(t, messagingStates, taken(messagingStates,
		func(s string) *messagingJobRow { r := &messagingJobRow{}; r.Status = s; return r },
		func(r *messagingJobRow) string { return r.Status },
		func(r *messagingJobRow) { r.wake(now, "") },
		func(r *messagingJobRow) { r.wake(now, "x") },
		inCampaignState(func(r *messagingJobRow) { r.goOn(now) }),
		inCampaignState(func(r *messagingJobRow) { r.generated(now) }),
		inCampaignState(func(r *messagingJobRow) { r.skipped(now, "x") }),
		inCampaignState(func(r *messagingJobRow) { r.stopped(now, "x") }),
		inCampaignState(func(r *messagingJobRow) { r.refused(now, "x") }),
		inCampaignState(func(r *messagingJobRow) { r.abandoned(now) }),
		inCampaignState(func(r *messagingJobRow) { r.CancelledOn = now; r.abandoned(now) }),
		func(r *messagingJobRow) { r.released(now) },
		func(r *messagingJobRow) { r.pause(now) },
		func(r *messagingJobRow) { r.resume(now) },
		func(r *messagingJobRow) { r.StartedOn = now; r.resume(now) },
		func(r *messagingJobRow) { r.cancel(now) },
		func(r *messagingJobRow) {
			r.IsOnSupportHold = r.Status == StatusFailed || r.Status == StatusStopped
			r.releaseHold(now)
		},
		func(r *messagingJobRow) {
			r.IsOnSupportHold, r.StartedOn = r.Status == StatusStopped, now
			r.releaseHold(now)
		},
		func(r *messagingJobRow) { r.conflicted(now) },
		func(r *messagingJobRow) {
			if r.Status == StatusReady {
				r.unserved(now)
			}
		},
	), StatusGenerating)

	sameEdges(t, userStates, taken(userStates,
		func(s string) *userMessageRow { r := &userMessageRow{}; r.Status = s; return r },
		func(r *userMessageRow) string { return r.Status },
		func(r *userMessageRow) { r.see(now) },
		func(r *userMessageRow) { r.read(now) },
		func(r *userMessageRow) { r.unread(now) },
		func(r *userMessageRow) { r.archive(now) },
		func(r *userMessageRow) { r.unarchive(now) },
		func(r *userMessageRow) { r.SeenOn = now; r.unarchive(now) },
		func(r *userMessageRow) { r.SeenOn, r.ReadOn = now, now; r.unarchive(now) },
		func(r *userMessageRow) { r.snooze(now, now.Add(time.Hour)) },
	), "")
}

// inState runs f only where its pass runs it: on a row that was claimed.
func inState(busy string, f func(*scheduleRow)) func(*scheduleRow) {
	return func(r *scheduleRow) {
		if r.Status == busy {
			f(r)
		}
	}
}

func inJobState(f func(*jobRow)) func(*jobRow) {
	return func(r *jobRow) {
		if r.Status == StatusGenerating {
			f(r)
		}
	}
}

func inCampaignState(f func(*messagingJobRow)) func(*messagingJobRow) {
	return func(r *messagingJobRow) {
		if r.Status == StatusGenerating {
			f(r)
		}
	}
}

func TestI16_MessagesTakeTheEdgesOfTheTableAndNoOthers(t *testing.T) {
	t.Parallel()
	n := Notifier{&core{store: memory.New(nil)}}
	late := func(status string, r Resolution) func(*messageRow) {
		return func(m *messageRow) {
			m.Resolution = r
			mine := message(status)
			n.sender().mergeSent(m, mine, false)
		}
	}
	from := func(status string, f func(*messageRow)) func(*messageRow) {
		return func(m *messageRow) {
			if m.Status == status {
				f(m)
			}
		}
	}
	got := taken(outgoingStates, message, func(m *messageRow) string { return m.Status },
		from(StatusSending, func(m *messageRow) { m.settled(now, channel.Receipt{}, nil) }),
		from(StatusSending, func(m *messageRow) { m.settled(now, channel.Receipt{}, channel.Classify(errors.New("x"))) }),
		from(StatusSending, func(m *messageRow) { m.settled(now, channel.Receipt{}, channel.Permanent("x", nil)) }),
		from(StatusSending, func(m *messageRow) { m.settled(now, channel.Receipt{}, channel.Unknown("x", nil)) }),
		from(StatusSending, func(m *messageRow) { m.skip(now, "x") }),
		from(StatusSending, func(m *messageRow) { m.ValidUntil = now; m.expired(now) }),
		from(StatusSending, func(m *messageRow) { m.deferTo(now, "x") }),
		from(StatusSending, func(m *messageRow) { m.unasked(now, "x") }),
		from(StatusSending, func(m *messageRow) { m.released(now) }),
		func(m *messageRow) { m.abandoned(now) },
		from(StatusOutcomeUnknown, func(m *messageRow) { m.absent(now) }),
		from(StatusOutcomeUnknown, func(m *messageRow) { m.Doubts, m.RetryCount = 2, 3; m.absent(now) }),
		from(StatusOutcomeUnknown, func(m *messageRow) { m.sendAgain(now, ResolvedByResend) }),
		late(StatusSentToProvider, ""), late(StatusFailedFinal, ""), late(StatusRetryReady, ""), late(StatusOutcomeUnknown, ""),
		late(StatusFailedFinal, ResolvedByAssumption),
		func(m *messageRow) { m.CallStartedOn = time.Time{}; m.cancel(now) },
		func(m *messageRow) { m.erase(now) },
		reportedAs(channel.KindAccepted), reportedAs(channel.KindFailed), reportedAs(channel.KindDelivered), reportedAs(channel.KindOpened),
		reportedAs(channel.KindBounced), reportedAs(channel.KindComplained), reportedAs(channel.KindUnsubscribed),
	)
	// Only another worker's claim keeps a message in Sending; a late acceptance of
	// an earlier call is the same edge as an acceptance.
	sameEdges(t, outgoingStates, got, StatusSending)
}

func reportedAs(k channel.StatusKind) func(*messageRow) {
	return func(m *messageRow) { m.reported(now, &deliveryEvent{StatusKind: k, On: now}) }
}

func TestI16_EventsAndSuppressionsTakeTheEdgesOfTheirTables(t *testing.T) {
	t.Parallel()
	sameEdges(t, eventStates, taken(eventStates,
		func(s string) *deliveryEvent { e := &deliveryEvent{}; e.Status = s; return e },
		func(e *deliveryEvent) string { return e.Status },
		(*deliveryEvent).matched,
		func(e *deliveryEvent) { e.unmatched(now) },
		func(e *deliveryEvent) { e.Tries = 3; e.unmatched(now) },
	), "")
	sameEdges(t, suppressionStates, taken(suppressionStates,
		func(s string) *suppressionRow { r := &suppressionRow{}; r.Status = s; return r },
		func(r *suppressionRow) string { return r.Status },
		func(r *suppressionRow) { r.lift(now) },
		func(r *suppressionRow) { renew(r, &suppressionRow{Said: []said{{Against: true}}}) },
	), "")
}

func message(status string) *messageRow {
	m := &messageRow{}
	m.Status, m.CallStartedOn, m.SentOn = status, now, now
	return m
}

// I-15: from every state a terminal state or a support hold is reachable.
func TestI15_EveryStateReachesAnEnd(t *testing.T) {
	t.Parallel()
	for _, m := range States() {
		ends := append([]string{StatusSentToProvider}, m.Terminal...) // a webhook goes on from there
		for _, s := range m.States() {
			if !reaches(m, s, ends, nil) {
				t.Errorf("%s: from %s no end is reachable", m.Name, s)
			}
		}
	}
}

func reaches(m states.Machine, from string, ends, seen []string) bool {
	if slices.Contains(ends, from) {
		return true
	}
	return slices.ContainsFunc(m.Edges, func(e states.Edge) bool {
		return e.From == from && !slices.Contains(seen, e.To) && reaches(m, e.To, ends, append(seen, from))
	})
}

// I-17, and: an expired lease counts once.
func TestI17_BackOffIsFiveMinutesFifteenMinutesAnHourThenHold(t *testing.T) {
	t.Parallel()
	s, j := &scheduleRow{}, &jobRow{}
	for i, least := range []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour} {
		s.Status, j.Status = StatusProcessing, StatusGenerating
		s.abandoned(now)
		j.abandoned(now)
		for what, due := range map[string]time.Time{"schedule": s.DueOn, "job": j.DueOn} {
			if wait := due.Sub(now); wait < least || wait > least+least/10 {
				t.Errorf("%s waits %v after failure %d", what, wait, i+1)
			}
		}
		if s.RetryCount != i+1 || s.LeaseLossCount != i+1 || j.RetryCount != i+1 || j.LeaseLossCount != i+1 {
			t.Errorf("counted %d/%d and %d/%d", s.RetryCount, s.LeaseLossCount, j.RetryCount, j.LeaseLossCount)
		}
	}
	s.Status, j.Status = StatusProcessing, StatusGenerating
	s.failed(now, "x")
	j.failed(now, "x")
	if !s.IsOnSupportHold || !s.DueOn.IsZero() || s.Status != StatusFailed || !j.IsOnSupportHold || !j.DueOn.IsZero() || j.Status != StatusFailed {
		t.Errorf("schedule %+v, job %+v", s, j)
	}
}

// I-16: a method called in a state that its table does not lead on from panics,
// and the row stays what it is.
func TestI16_AnIllegalTransitionPanics(t *testing.T) {
	t.Parallel()
	for _, from := range []string{StatusSkipped, StatusFailedFinal, StatusDelivered, StatusCancelled} {
		m := message(from)
		if !panics(func() { m.accepted(now, channel.Receipt{}) }) || m.Status != from {
			t.Errorf("accepted in %s leads to %s", from, m.Status)
		}
	}
	j := &jobRow{}
	j.Status = StatusCancelled
	if !panics(func() { j.released(now) }) || j.Status != StatusCancelled {
		t.Errorf("a cancelled job is given back: %s", j.Status)
	}
}

// The pass fails as a group, before any call: counted, and held in the end, since
// nothing has refused the message.
func TestAGroupThatFailsBeforeItsCallsIsTriedAgainAndThenHeld(t *testing.T) {
	t.Parallel()
	m := &messageRow{}
	for range 3 {
		m.Status = StatusSending
		sendFailed(storetest.Start, m, errors.New("database away"))
		if m.Status != StatusRetryReady || m.DueOn.IsZero() {
			t.Fatalf("message is %+v", m)
		}
	}
	m.Status = StatusSending
	sendFailed(storetest.Start, m, errors.New("database away"))
	if want := (driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.RetriesExhausted}); m.SupportHold != want || !m.DueOn.IsZero() {
		t.Errorf("message is %+v", m)
	}
}

// The pass fails after the calls: what they decided stands.
func TestWhatACallDecidedStandsThoughItsGroupFails(t *testing.T) {
	t.Parallel()
	for _, status := range []string{StatusSentToProvider, StatusFailedFinal, StatusOutcomeUnknown, StatusSkipped} {
		m := &messageRow{Due: driver.Due{Record: storage.Record{Status: status}}}
		if sendFailed(storetest.Start, m, errors.New("refused by the store")); m.Status != status {
			t.Errorf("%s became %s", status, m.Status)
		}
	}
	m := &messageRow{Due: driver.Due{Record: storage.Record{Status: StatusSending}}, Progress: Progress{CallStartedOn: storetest.Start}}
	if sendFailed(storetest.Start, m, nil); m.Status != StatusOutcomeUnknown {
		t.Errorf("a started call became %s", m.Status)
	}
}

func TestNoStatusGoesBackwards(t *testing.T) {
	t.Parallel()
	h := New(memory.New(nil), nil)
	now := storetest.Start.Add(time.Hour)
	sent := messageRow{Due: driver.Due{Record: storage.Record{Status: StatusSentToProvider}}, Progress: Progress{SentOn: storetest.Start, ProviderMessageID: "late", Calls: 1}}
	for _, status := range []string{StatusDelivered, StatusOpened, StatusFailedFinal, StatusCancelled, StatusSkipped} {
		m := messageRow{Due: driver.Due{Record: storage.Record{Status: status}}, Tries: driver.Tries{EndedOn: now}}
		for _, held := range []bool{true, false} {
			h.sender().mergeSent(&m, &sent, held)
		}
		if m.Status != status || !m.DueOn.IsZero() || m.ProviderMessageID != "late" || !m.SentOn.Equal(storetest.Start) {
			t.Errorf("%s became %+v", status, m)
		}
	}
	for _, mine := range []string{StatusRetryReady, StatusFailedFinal, StatusOutcomeUnknown, StatusSkipped} {
		m := sent
		late := messageRow{Due: driver.Due{Record: storage.Record{Status: mine}, DueOn: now}}
		if h.sender().mergeSent(&m, &late, true) || m.Status != StatusSentToProvider {
			t.Errorf("late %s made it %s", mine, m.Status)
		}
	}
	second := messageRow{Due: driver.Due{Record: storage.Record{Status: StatusRetryReady}}, Progress: Progress{Calls: 2}}
	first := messageRow{Due: driver.Due{Record: storage.Record{Status: StatusFailedFinal}}, Progress: Progress{Calls: 1}}
	if h.sender().mergeSent(&second, &first, false) {
		t.Error("the refusal of an earlier call ended a later one")
	}
}

func TestAResolversDecisionGivesWayToWhatOthersDecided(t *testing.T) {
	t.Parallel()
	h := New(memory.New(nil), nil)
	decided := messageRow{Due: driver.Due{Record: storage.Record{Status: StatusRetryReady}}, Progress: Progress{Resolution: ResolvedByResend}}
	open := messageRow{Due: driver.Due{Record: storage.Record{Status: StatusOutcomeUnknown}}}
	if m := open; !h.resolver().mergeResolved(&m, &decided, true) || m.Status != StatusRetryReady {
		t.Errorf("held: %+v", m)
	}
	if m := open; h.resolver().mergeResolved(&m, &decided, false) {
		t.Errorf("not held: %+v", m)
	}
	held := open
	held.SupportHold = onHold(reasons.OutcomeUnknown)
	if h.resolver().mergeResolved(&held, &decided, true) {
		t.Errorf("on hold: %+v", held)
	}
	found := messageRow{Due: driver.Due{Record: storage.Record{Status: StatusSentToProvider}}, Progress: Progress{Resolution: ResolvedByLookup, ProviderMessageID: "p1", SentOn: storetest.Start}}
	if !h.resolver().mergeResolved(&held, &found, false) || held.Status != StatusSentToProvider || held.IsOnSupportHold {
		t.Errorf("found by look-up: %+v", held)
	}
}
