package survey

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// nothing is what a handler decides whose rows say everything.
type nothing = struct{}

// sendPass sends the links that are due, reminds of them and expires them. A claim
// commits before anything is called, and leaves the status alone: a customer may
// open and answer the form meanwhile. A process claims only sends whose channel it
// has, and every expiry.
func (s *Service) sendPass() work.Pass {
	return servedPass{s: s, Pass: work.New(s.store, work.Spec[Instance, nothing]{
		Name: "survey.send", Table: instances, Claimable: active, Types: s.channelKeys, Group: s.options.Concurrency,
		Stream:  s.send,
		Fail:    func(now time.Time, r *Instance, _ error) { r.passFailed(now) },
		Abandon: func(now time.Time, r *Instance) { r.abandoned(now) },
		Release: func(time.Time, *Instance) {}, // it is as due as it was
		Merge:   s.mergeSent,
		Settled: s.writeLog,
	})}
}

// checkSending panics on options that no program can mean.
func (s *Service) checkSending() {
	for i, g := range s.gates {
		if g == nil {
			panic(fmt.Sprintf("survey: New: gate %d is nil", i+1))
		}
	}
	switch s.options.InDoubt {
	case Advance, Retry, Hold:
	default:
		panic(fmt.Sprintf("survey: New: %q is no policy for a send in doubt", string(s.options.InDoubt)))
	}
}

// channelKeys are the channels of this process.
func (s *Service) channelKeys() []string {
	out := make([]string, 0, len(s.channels))
	for key := range s.channels {
		out = append(out, key)
	}
	return out
}

// sending is an instance on its way through the steps of the pass.
type sending struct {
	work.Item[Instance]
	version *version
	trigger *Trigger
	grace   time.Duration
	channel notify.Channel
	message notify.Message
	// composed says that message is complete.
	composed bool
	landed   bool
	// redirect is the address that a gate gave instead of the recipient's.
	redirect string
}

// send takes a group through the steps. Each step settles those that end there
// and returns the others; whoever gets through is called. Rows land when they are
// settled, whatever the others do.
func (s *Service) send(ctx context.Context, items []work.Item[Instance], land func(*Instance, nothing)) error {
	all, err := s.pinned(ctx, items)
	if err != nil {
		return err
	}
	open := s.wanted(all)
	open = s.withChannel(open)
	open = s.resolveDoubts(ctx, open)
	open = s.compose(open)
	open = s.askGates(ctx, open)
	finish := func(it *sending) {
		it.Row.plan(it.grace)
		it.landed = true
		land(it.Row, nothing{})
	}
	waits := rowsOf(open)
	for _, it := range all {
		if !waits[it.Row] {
			finish(it)
		}
	}
	for _, it := range items {
		if !waits[it.Row] {
			land(it.Row, nothing{}) // pinned has settled it
		}
	}
	err = s.call(ctx, open, func(it *sending) {
		s.callOne(it)
		finish(it)
	})
	if err != nil {
		return err
	}
	for _, it := range open { // no longer ours when its call would have begun
		if !it.landed {
			finish(it)
		}
	}
	return nil
}

func rowsOf(items []*sending) map[*Instance]bool {
	rows := make(map[*Instance]bool, len(items))
	for _, it := range items {
		rows[it.Row] = true
	}
	return rows
}

// wanted leaves out, and expires, what is not to be sent now.
func (s *Service) wanted(all []*sending) (open []*sending) {
	for _, it := range all {
		switch r, now := it.Row, storage.Now(s.store); {
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
func (s *Service) withChannel(items []*sending) (open []*sending) {
	for _, it := range items {
		r := it.Row
		it.channel = s.channels[r.Channel]
		switch {
		case it.channel != nil:
			open = append(open, it)
		case r.ReasonCode == ReasonNoChannel && r.Type == "":
			now := storage.Now(s.store)
			r.logNoCall(now, DeliveryNoChannel, ReasonNoChannel)
			r.stop(now, ReasonNoChannel)
		}
	}
	return open
}
