package channeltest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
)

// Batch is the part of a harness for requests with several messages. Its handlers are
// like those of a [Harness], whose other answers apply to a whole request.
type Batch struct {
	// Open makes a channel as Harness.Open does, which takes at least three messages by
	// one call.
	Open func(t *testing.T, at Provider) channel.Channel
	// Read returns the texts that the recipients would read, in the order of the request;
	// none: it is not a request with several messages.
	Read func(r *http.Request, body []byte) []string
	// Answer accepts that many messages, except one that is refused for its address, counted
	// from zero; -1: none is refused.
	Answer func(messages, refused int) http.HandlerFunc
}

// several is how many messages a batch of the suite has.
const several = 3

// batches are what can happen to several messages at once: doubt is that of the call, all
// else that of each message.
var batches = []check{
	{"batch: accepted", func(tr *trial) {
		all, _ := tr.batch(tr.h.Batch.Answer(several, -1), accepted, accepted, accepted)
		for i, d := range tr.server.seen() {
			if !strings.Contains(d.text, all[i].Text) {
				tr.t.Errorf("recipient %d reads %q", i, d.text)
			}
		}
	}},
	{"batch: one refused", func(tr *trial) {
		_, errs := tr.batch(tr.h.Batch.Answer(several, 1), accepted, channel.ClassPermanent, accepted)
		tr.blames(errs[1], channel.FaultAddress)
	}},
	{"batch: account refused", func(tr *trial) {
		_, errs := tr.batch(tr.h.RefuseAccount, channel.ClassTransient)
		tr.blames(errs[0], channel.FaultAccount)
	}},
	{"batch: throttled", func(tr *trial) {
		_, errs := tr.batch(tr.h.Throttle, channel.ClassTransient)
		if errs[0] != nil && errs[0].RetryAfter != Wait {
			tr.t.Errorf("asks to wait %v, want %v", errs[0].RetryAfter, Wait)
		}
	}},
	{"batch: too few answers", func(tr *trial) { tr.batch(tr.h.Batch.Answer(several-1, -1), channel.ClassUnknown) }},
	{"batch: malformed answer", func(tr *trial) { tr.batch(hotel, channel.ClassUnknown) }},
	{"batch: answer cut short", func(tr *trial) { tr.batch(half(tr.h.Batch.Answer(several, -1)), channel.ClassUnknown) }},
	{"batch: cut after the request", func(tr *trial) {
		tr.batch(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, channel.ClassUnknown)
	}},
}

// isBatch says whether a subtest is for channels with batches.
func isBatch(name string) bool {
	return slices.ContainsFunc(batches, func(c check) bool { return c.name == name })
}

// batch sends several messages by one call to a provider that answers so, and wants these
// classes, or one for all.
func (tr *trial) batch(script http.HandlerFunc, want ...channel.Class) (all []channel.Message, errs []*channel.Error) {
	tr.t.Helper()
	tr.opened(tr.h.Batch.Open)
	b, ok := tr.channel.(channel.BatchSend)
	if !ok || b.MaxBatch() < several {
		tr.t.Fatalf("channeltest: the channel of Batch.Open takes no batch of %d", several)
	}
	tr.server.answers(script)
	for n := range several {
		all = append(all, tr.message(n))
	}
	ctx, cancel := context.WithTimeout(tr.t.Context(), patience)
	defer cancel()
	results, err := b.SendBatch(ctx, all)
	switch {
	case err != nil && results != nil:
		tr.t.Errorf("SendBatch returns both results and %v", err)
	case err == nil && len(results) != several:
		tr.t.Fatalf("%d results for %d messages", len(results), several)
	}
	for i, m := range all {
		one := channel.BatchResult{Err: err}
		if err == nil {
			one = results[i]
		}
		if one.Err != nil && one.Receipt != (channel.Receipt{}) {
			tr.t.Errorf("result %d has both a receipt and %v", i, one.Err)
		}
		tr.innocent(one.Err, m)
		errs = append(errs, channel.Classify(one.Err))
		tr.is(errs[i], want[min(i, len(want)-1)])
	}
	tr.requests(several)
	if got := tr.server.calls(); got != 1 {
		tr.t.Errorf("%d requests, want one", got)
	}
	return all, errs
}
