package survey

import (
	"cmp"
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/outage"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/driver"
)

// lineOf is the channel of a link. It is the one that all scopes share: a service has
// no other.
func lineOf(channel string) outage.Line { return outage.Line{Everywhere: true, Channel: channel} }

// outNow tells the send pass which links to leave alone: those whose channel is out,
// until it is time for a probe. The outages are those of package notify too.
func (s *core) outNow(ctx context.Context, from driver.Reader) (out work.Except, err error) {
	found, err := s.watch.Current(ctx, from)
	now := driver.Now(s.store)
	for key := range s.channels {
		if found[lineOf(key)].IsOut(now) {
			out.Types = append(out.Types, key)
		}
	}
	return out, err
}

// calm leaves out links whose channel is out, but for one of each that may be its probe
// if it is time for one. What cannot be read is taken as it was: calls are noted in the
// same store.
func (s asker) calm(ctx context.Context, items []*sending) (open []*sending) {
	out, _ := s.watch.Current(ctx, nil)
	now, asked := driver.Now(s.store), map[string]bool{}
	for _, it := range items {
		channel := it.Row.Channel
		r := out[lineOf(channel)]
		if r != nil && (r.IsOut(now) || asked[channel]) {
			it.Row.NextTryOn = now
			continue
		}
		it.probe = r != nil
		asked[channel] = asked[channel] || it.probe
		open = append(open, it)
	}
	return open
}

// probing takes the probes that were left in, and leaves out those that others have.
func (s asker) probing(ctx context.Context, items []*sending) (open []*sending) {
	for _, it := range items {
		if it.probe && !s.watch.Probe(ctx, lineOf(it.Row.Channel)) {
			it.Row.NextTryOn = driver.Now(s.store)
			continue
		}
		open = append(open, it)
	}
	return open
}

// settle applies the result of a call to the link, and to what is known of its channel.
func (s asker) settle(it *sending, receipt channel.Receipt, e *channel.Error) {
	r, now := it.Row, driver.Now(s.store)
	at := lineOf(r.Channel)
	spared := (e == nil || it.Ctx.Err() == nil) && s.watch.Heard(it.Ctx, at, r.CallStartedOn, answerOf(e), it.probe)
	if !spared || e.Class == channel.ClassUnknown {
		r.settled(now, it.trigger.Schedule.Reminders, receipt, e)
		return
	}
	next := now
	if out := s.watch.Known(at); out != nil && it.probe {
		next = out.ProbeOn // behind others, which are due
	}
	r.spared(now, next, e)
}

// answerOf is what a call's error tells of its channel.
func answerOf(e *channel.Error) outage.Answer {
	if e == nil {
		return outage.Answer{}
	}
	return outage.Answer{
		Class: string(e.Class), Code: e.Code, RetryAfter: e.RetryAfter, Named: e.Fault != "", Out: e.Fault.IsOutage(), Policy: e.Fault == channel.FaultPolicy,
	}
}

// spared is a refusal that says nothing about the link: its channel is out. No try is
// counted.
func (i *instanceRow) spared(now, next time.Time, e *channel.Error) {
	reason := cmp.Or(storable.Code(e.Code), ReasonRefused)
	i.logCall(now, DeliveryFailed, "", reason)
	i.settleCall()
	i.NextTryOn, i.ReasonCode = next, reason
}
