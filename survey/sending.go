package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// nothing is what a handler decides whose rows say everything.
type nothing = struct{}

// sendPass sends the links that are due, reminds of them and expires them. A claim
// commits before anything is called, and leaves the status alone: a customer may
// open and answer the form meanwhile. A process claims only sends whose channel it
// has, and every expiry.
func (s asker) sendPass() work.Pass {
	return work.New(s.store, work.Spec[instanceRow, nothing]{
		Name: "survey.send", Table: instances, Claimable: active, Types: s.channelKeys, Except: s.outNow, Group: s.options.Concurrency, Limit: s.groupTimeout,
		Stream:    s.send,
		Fail:      func(now time.Time, r *instanceRow, _ error) { r.passFailed(now) },
		Abandon:   func(now time.Time, r *instanceRow) { r.abandoned(now) },
		Release:   func(time.Time, *instanceRow) {}, // it is as due as it was
		ApplyLate: s.mergeSent,
		Settled:   s.writeLog,
	})
}

// groupTimeout is how long a group of sends may be with gates, renderers and its
// channel, even if all calls wait for one another.
func (s asker) groupTimeout(string) time.Duration {
	return time.Hour + time.Duration(s.options.Concurrency)*s.options.CallTimeout
}

// checkSending panics on options that no program can mean.
func (s asker) checkSending() {
	for i, g := range s.gates {
		if g == nil {
			panic(fmt.Sprintf("survey: New: gate %d is nil", i+1))
		}
	}
	switch s.options.InDoubt {
	case "", notify.AssumeSent, notify.Resend, notify.Hold:
	default:
		panic(fmt.Sprintf("survey: New: %q is not a policy for a send in doubt", string(s.options.InDoubt)))
	}
}

// channelKeys are the channels of this process.
func (s *core) channelKeys() []string {
	out := make([]string, 0, len(s.channels))
	for key := range s.channels {
		out = append(out, key)
	}
	return out
}

// sending is an instance on its way through the steps of the pass.
type sending struct {
	work.Item[instanceRow]
	version *version
	trigger *form.Trigger
	grace   time.Duration
	channel channel.Channel
	message channel.Message
	// composed says that message is complete.
	composed bool
	// probe says that the channel is out, and the link finds out whether it still is.
	probe bool
	// redirect is the address that a gate gave instead of the recipient's.
	redirect string
}

// send takes a group through the steps. Each step settles those that end there
// and returns the others; whoever gets through is called. Rows land when they are
// settled, whatever the others do.
func (s asker) send(ctx context.Context, items []work.Item[instanceRow], land func(*instanceRow, nothing)) error {
	all, err := s.pinned(ctx, items)
	if err != nil {
		return err
	}
	open := s.wanted(all)
	open = s.withChannel(open)
	open = s.resolveDoubts(ctx, open)
	open = s.calm(ctx, open)
	if open, err = s.restful(ctx, open); err != nil {
		return err
	}
	open = s.compose(open)
	open = s.askGates(ctx, open)
	open = s.probing(ctx, open)
	finish := func(it *sending) {
		it.Row.plan(it.grace)
		land(it.Row, nothing{})
	}
	waits := rowsOf(open)
	for _, it := range all {
		if !waits[it.Row] {
			finish(it)
		}
	}
	return s.callsOf(finish).Send(ctx, open)
}

func rowsOf(items []*sending) map[*instanceRow]bool {
	rows := make(map[*instanceRow]bool, len(items))
	for _, it := range items {
		rows[it.Row] = true
	}
	return rows
}

// wanted leaves out, and expires, what is not to be sent now.
func (s asker) wanted(all []*sending) (open []*sending) {
	for _, it := range all {
		switch r, now := it.Row, driver.Now(s.store); {
		case !r.isOpen() || r.IsOnSupportHold:
		case !now.Before(r.endsOn(it.grace)):
			r.expire(now)
		case r.NextSendOn.IsZero() || r.sendOn().After(now):
		default:
			open = append(open, it)
		}
	}
	return open
}

// withChannel resolves the channel by the key that the event left. A row that this
// process cannot serve came here without a type, because the sweep found that
// nobody does, or because its grace has changed; then whoever has the channel gets
// it.
func (s asker) withChannel(items []*sending) (open []*sending) {
	for _, it := range items {
		r := it.Row
		it.channel = s.channels[r.Channel]
		switch {
		case it.channel != nil:
			open = append(open, it)
		case r.ReasonCode == ReasonNoChannel && r.Kind == "":
			now := driver.Now(s.store)
			r.logNoCall(now, DeliveryNoChannel, ReasonNoChannel)
			r.stop(now, ReasonNoChannel)
		}
	}
	return open
}

// versionID names a published version.
type versionID struct {
	scope    Scope
	surveyID int64
	number   int64
}

// pinned finds the version and the trigger that each row is pinned to. A row
// without them can still expire.
func (s *core) pinned(ctx context.Context, items []work.Item[instanceRow]) ([]*sending, error) {
	out := make([]*sending, len(items))
	err := s.store.InTx(ctx, func(tx storage.Tx) error {
		found := map[versionID]*version{}
		for i, it := range items {
			r := it.Row
			id := versionID{r.Scope, r.SurveyID, r.SurveyVersion}
			v, known := found[id]
			if !known {
				var err error
				if v, err = s.versionOf(ctx, tx, id.scope, id.surveyID, id.number); err != nil && !unreadable(err) {
					return err
				} else if err != nil {
					v = nil
				}
				found[id] = v
			}
			r.Of = v
			out[i] = &sending{Item: it, version: v, trigger: triggerOf(v, r.TriggerID)}
			out[i].grace = s.graceOf(out[i].trigger)
		}
		return nil
	})
	return out, err
}

// unreadable errors are about one version; others are about the database.
func unreadable(err error) bool {
	return errors.Is(err, storage.ErrNotFound) || errors.Is(err, errUnreadable)
}

func triggerOf(v *version, id string) *form.Trigger {
	if v == nil {
		return nil
	}
	return v.Trigger(id)
}

// graceOf is how long an instance of that trigger stays open after its last send.
func (s *core) graceOf(t *form.Trigger) time.Duration {
	if t != nil && t.ExpiryGrace != nil {
		return time.Duration(*t.ExpiryGrace)
	}
	return s.options.ExpiryGrace
}

// NotificationType is what gates, pauses, caps and preferences of package notify
// call the sends of this package.
const NotificationType = "survey"

// minDefer is how long a send waits at least that a gate does not let out: pauses
// and a copied database say "now", and are asked again.
const minDefer = time.Minute

// askGates asks the gates in order, each about what those before it let through.
// It comes before the call-started write, so that a crash here leaves nothing in
// doubt.
func (s asker) askGates(ctx context.Context, items []*sending) []*sending {
	for _, g := range s.gates {
		if len(items) > 0 {
			items = s.askGate(ctx, g, items)
		}
	}
	return items
}

func (s asker) askGate(ctx context.Context, g notify.Gate, items []*sending) (open []*sending) {
	attempts := make([]notify.Attempt, len(items))
	for i, it := range items {
		attempts[i] = s.attempt(it)
	}
	verdicts, err := s.verdicts(ctx, g, attempts)
	for i, it := range items {
		if err != nil {
			s.untried(it, ReasonGateFailed, away(err))
		} else if s.apply(it, verdicts[i]) {
			open = append(open, it)
		}
	}
	return open
}

// verdicts asks one gate.
func (s asker) verdicts(ctx context.Context, g notify.Gate, a []notify.Attempt) ([]notify.Verdict, error) {
	return calls.Gate(ctx, s.options.Logger, g, a, g.Ask, func(v notify.Verdict) bool {
		return v.Action == notify.ActionProceed || v.Action == notify.ActionDefer || v.Action == notify.ActionSkip
	})
}

// apply reports whether the link may go out now. A wait counts no try, and is not
// longer than the row's own limits; a skip stops the schedule.
func (s asker) apply(it *sending, v notify.Verdict) bool {
	r, now := it.Row, driver.Now(s.store)
	switch v.Action {
	case notify.ActionDefer:
		r.NextTryOn = driver.Time(later(v.Until, now.Add(minDefer)))
		r.ReasonCode = storable.Code(v.Reason)
		return false
	case notify.ActionSkip:
		reason := cmp.Or(storable.Code(v.Reason), DeliverySkipped)
		r.logNoCall(now, DeliverySkipped, reason)
		r.stop(now, reason)
		return false
	}
	it.redirect = cmp.Or(v.To, it.redirect)
	return true
}

// attempt is what gates are told. They know a recipient by the customer reference
// over all that the host sends, or else by method and address.
func (s asker) attempt(it *sending) notify.Attempt {
	return s.attemptAt(it.Row, it.message)
}

// hashKey is that of gates.
func (s *core) hashKey() []byte {
	if s.options.Gates == nil {
		return nil
	}
	return s.options.Gates.HashKey
}

func (s *core) attemptAt(r *instanceRow, m channel.Message) notify.Attempt {
	method := channel.Method(r.Channel)
	reminds := ""
	if r.SendOrdinal > 0 {
		reminds = r.PublicID
	}
	return notify.Attempt{
		Scope: r.Scope, MessageID: m.ID, Reminds: reminds, Number: m.Attempt,
		NotificationType: NotificationType, Group: s.options.Group, OptIn: s.options.OptIn, BusinessUnit: r.BusinessUnit, Channel: r.Channel, Method: method,
		RecipientRef: r.CustomerRef, RecipientHash: spelling.Hash(s.hashKey(), r.CustomerRef, method, m.To),
		Address: m.To, Zone: r.RecipientZone, Lane: r.Lane, Urgent: r.Lane == storage.LaneUrgent, Now: driver.Now(s.store),
	}
}
