package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// once has the channel answer err to its first call alone.
func (h *host) once(err error) {
	first := true
	h.use(survey.Options{}, through(func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
		r, _ := h.send(ctx, m)
		if !first {
			return r, nil
		}
		first = false
		return channel.Receipt{}, err
	}))
}

// A send of which it is unknown whether it happened: by default the first one is made once
// more, or the customer would never be asked, and then waits for a person.
func TestTheFirstSendInDoubtIsMadeOnceMore(t *testing.T) {
	t.Run("it goes out", func(t *testing.T) {
		eachHost(t, nil, func(h *host) {
			h.once(channel.Unknown("", io.EOF))
			id := h.linked(csiGR)
			h.drain()
			sent := h.sent()
			if len(sent) != 2 || sent[0].ID != sent[1].ID || sent[0].Text != sent[1].Text || linkIn(sent[0]) != linkIn(sent[1]) {
				h.t.Fatalf("sent %v", sent)
			}
			h.status(id, survey.StatusSent)
		})
	})
	t.Run("a doubt again", func(t *testing.T) {
		eachHost(t, nil, func(h *host) {
			h.fails(channel.Unknown("", io.EOF))
			id := h.linked(csiGR)
			h.drain()
			h.at(10 * day)
			if i := h.status(id, survey.StatusPending); !i.IsOnSupportHold || !i.InDoubt || i.ReasonCode != reasons.InDoubt || len(h.sent()) != 2 {
				h.t.Errorf("%d calls: %+v", len(h.sent()), i)
			}
		})
	})
}

// A reminder in doubt is taken for sent, so that nobody gets it twice; so is the first
// send if the host says so.
func TestASendInDoubtIsTakenForMade(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(csiGR)
		h.drain()
		h.fails(channel.Unknown("", io.EOF))
		h.at(day)
		i := h.status(id, survey.StatusSent)
		if i.SendOrdinal != 2 || i.InDoubt || len(h.sent()) != 2 {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
	})
	eachHost(t, &survey.Options{InDoubt: notify.AssumeSent}, func(h *host) {
		h.fails(channel.Unknown("", io.EOF))
		id := h.linked(csiGR)
		h.drain()
		i := h.status(id, survey.StatusSent)
		if !i.NextSendOn.Equal(start.Add(day)) || i.SendOrdinal != 1 || i.InDoubt || len(h.sent()) != 1 {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
		if diff := cmp.Diff([]string{"0/1 unknown InDoubt"}, h.log(id)); diff != "" {
			h.t.Error(diff)
		}
	})
}

// A provider that never answers is not called without end, though the host has sends repeated.
func TestRepeatsOfASendInDoubtAreLimited(t *testing.T) {
	eachHost(t, &survey.Options{InDoubt: notify.Resend}, func(h *host) {
		h.fails(channel.Unknown("", io.EOF))
		id := h.linked(csiGR)
		for _, after := range []time.Duration{0, 6 * time.Minute, 23 * time.Minute, 90 * time.Minute, 9 * time.Hour, 36 * time.Hour, 5 * day} {
			h.at(after)
		}
		if i := h.status(id, survey.StatusPending); len(h.sent()) != 5 || !i.IsOnSupportHold {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
	})
}

func TestASendInDoubtWaitsForAPersonIfTheHostSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(*host, string) error
		calls  int
	}{
		"it was made":  {func(h *host, id string) error { return h.survey.Support().Release(h.t.Context(), "", id, someone) }, 1},
		"it was not":   {func(h *host, id string) error { return h.survey.Support().Retry(h.t.Context(), "", id, someone) }, 2},
		"it is enough": {func(h *host, id string) error { return h.survey.Support().Cancel(h.t.Context(), "", id, someone) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			eachHost(t, &survey.Options{InDoubt: notify.Hold}, func(h *host) {
				h.fails(channel.Unknown("", io.EOF))
				id := h.linked(csiGR)
				h.drain()
				h.fails(nil)
				h.at(60 * day)
				if i := h.status(id, survey.StatusPending); !i.IsOnSupportHold || !i.DueOn.IsZero() || len(h.sent()) != 1 {
					h.t.Fatalf("%d calls: %+v", len(h.sent()), i)
				}
				if err := c.decide(h, id); err != nil {
					h.t.Fatal(err)
				}
				h.drain()
				if i := h.explain(id).Instance; len(h.sent()) != c.calls || i.IsOnSupportHold || i.InDoubt {
					h.t.Errorf("%d calls: %+v", len(h.sent()), i)
				}
			})
		})
	}
}

// asked is a channel that can tell afterwards.
type asked struct {
	channel.Channel
	knows channel.LookupResult
	about []channel.Message
}

func (*asked) LookupWindow() time.Duration { return 0 }

func (a *asked) Lookup(_ context.Context, m channel.Message) (channel.LookupResult, error) {
	a.about = append(a.about, m)
	return a.knows, nil
}

// A provider that can tell is asked before the policy decides.
func TestAProviderThatCanTellSettlesADoubt(t *testing.T) {
	for name, c := range map[string]struct {
		knows channel.LookupResult
		log   []string
	}{
		"accepted":    {channel.LookupResult{Status: channel.LookupAccepted, Receipt: channel.Receipt{ID: "p1"}}, []string{"0/1 unknown InDoubt", "0/1 delivered"}},
		"absent":      {channel.LookupResult{Status: channel.LookupAbsent}, []string{"0/1 unknown InDoubt", "0/1 failed Absent", "0/2 delivered"}},
		"cannot tell": {channel.LookupResult{}, []string{"0/1 unknown InDoubt", "0/2 delivered"}},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, nil, func(h *host) {
				first := true
				a := &asked{Channel: through(func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
					r, err := h.send(ctx, m)
					if first {
						first, err = false, channel.Unknown("", io.EOF)
					}
					return r, err
				}), knows: c.knows}
				h.use(survey.Options{}, a)
				id := h.linked(csiGR)
				for _, after := range []time.Duration{0, time.Minute, 6 * time.Minute, 21 * time.Minute} {
					h.at(after)
				}
				if diff := cmp.Diff(c.log, h.log(id)); diff != "" {
					h.t.Error(diff)
				}
				if i := h.status(id, survey.StatusSent); i.SendOrdinal != 1 || len(a.about) == 0 || a.about[0].ID != h.sent()[0].ID {
					h.t.Errorf("asked about %+v: %+v", a.about, i)
				}
			})
		})
	}
}

// I-8, I-9: a process that dies after its call began leaves a doubt, which another
// one finds when the lease has run out; and what the dead one knew, if it was only
// slow, settles the doubt without another call.
func TestI9_ACallThatOutlivesItsLeaseIsNotRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		policy notify.InDoubt
		answer error
		log    []string
		sent   bool
	}{
		"held, then accepted":  {notify.Hold, nil, []string{"0/1 unknown LeaseLost", "0/1 delivered"}, true},
		"assumed and accepted": {notify.AssumeSent, nil, []string{"0/1 unknown LeaseLost", "0/1 delivered"}, true},
		"assumed and refused":  {notify.AssumeSent, channel.Permanent("550", nil), []string{"0/1 unknown LeaseLost", "0/1 refused 550"}, true},
		"held, then refused":   {notify.Hold, channel.Permanent("550", nil), []string{"0/1 unknown LeaseLost", "0/1 refused 550"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachHost(t, nil, func(h *host) {
				called, answer := make(chan struct{}), make(chan struct{})
				h.use(survey.Options{InDoubt: c.policy}, through(func(context.Context, channel.Message) (channel.Receipt, error) {
					called <- struct{}{}
					<-answer
					return channel.Receipt{ID: "p1"}, c.answer
				}))
				id := h.linked(csiGR)
				slow, done := h.survey, make(chan error)
				go func() {
					_, err := slow.PollOnce(h.t.Context(), 10)
					done <- err
				}()
				<-called
				h.use(survey.Options{InDoubt: c.policy}, h.memory())
				h.at(2 * time.Minute) // the lease is over
				close(answer)
				if err := <-done; err != nil {
					h.t.Fatal(err)
				}
				h.drain()
				if diff := cmp.Diff(c.log, h.log(id)); diff != "" {
					h.t.Error(diff)
				}
				i := h.explain(id).Instance
				if n := len(h.sent()); n != 0 || i.IsOnSupportHold || i.InDoubt || c.sent != (i.Status == survey.StatusSent) {
					h.t.Errorf("%d more calls: %+v", n, i)
				}
			})
		})
	}
}

// A process that stalls before its call is taken over, which counts as a try, since
// a row may bring down whoever takes it; when it goes on it makes no call.
func TestI26_WhoLostItsLeaseBeforeTheCallMakesNone(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		begun, goOn := make(chan struct{}), make(chan struct{})
		h.use(survey.Options{Renderer: rendererFunc(func(d form.LinkData) (form.Parts, error) {
			close(begun)
			<-goOn
			return form.Parts{Text: d.URL}, nil
		})}, h.memory())
		id := h.linked(csiGR)
		slow, done := h.survey, make(chan error)
		go func() {
			_, err := slow.PollOnce(h.t.Context(), 10)
			done <- err
		}()
		<-begun
		h.use(survey.Options{}, h.memory())
		h.at(2 * time.Minute) // the lease is over
		i := h.status(id, survey.StatusPending)
		if i.Tries != 1 || i.ReasonCode != reasons.LeaseLost || i.Calls != 0 {
			h.t.Fatalf("the row is %+v", i)
		}
		close(goOn)
		if err := <-done; err != nil {
			h.t.Fatal(err)
		}
		if n := len(h.sent()); n != 0 {
			h.t.Fatalf("%d calls by the slow one", n)
		}
		h.at(10 * time.Minute)
		if diff := cmp.Diff([]string{"0/1 delivered"}, h.log(id)); diff != "" {
			h.t.Error(diff)
		}
		h.status(id, survey.StatusSent)
	})
}

// One slow call holds up no result of the others in its group.
func TestAResultIsKeptWhileAnotherCallGoesOn(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		slow, answer := make(chan struct{}, 1), make(chan struct{})
		slow <- struct{}{}
		h.use(survey.Options{}, through(func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			select {
			case <-slow: // the first
				<-answer
			default:
			}
			return h.send(ctx, m)
		}))
		h.publish(csiGR)
		report := h.ingest(visit, strings.Replace(visit, "40956", "40957", 1))
		settled := h.store.Waker().Listen("survey_instance")
		defer settled.Close()
		ctx, stop := context.WithCancel(h.t.Context())
		done := make(chan error, 1)
		go func() { done <- h.poller.Run(ctx) }()
		for statuses := map[string]int{}; statuses[survey.StatusSent] != 1 || statuses[survey.StatusPending] != 1; {
			<-settled.C() // its message is made, its reminder is due some day
			clear(statuses)
			for _, it := range report.Items {
				statuses[h.explain(it.Instances[0].PublicID).Instance.Status]++
			}
		}
		close(answer)
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			h.t.Error(err)
		}
	})
}

// rated is a response to the surveys of definition.
var rated = survey.Response{Answers: json.RawMessage(`{"rate": 9}`)}

// I-26: a customer who answers after the claim, by a link of before, is not sent
// another one: the message is ended when the call is about to begin.
func TestI26_WhoAnswersAfterTheClaimIsNotSentToAnyMore(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.gated(gate.Func(func(ctx context.Context, a gate.Attempt) (gate.Verdict, error) {
			if a.Reminds != "" {
				_, err := h.survey.Submit(ctx, tokenOf(linkIn(h.sent()[0])), rated)
				return gate.Proceed(), err
			}
			return gate.Proceed(), nil
		}))
		id := h.linked(definition("0d", []string{"1d", "1d"}))
		h.drain()
		h.clock.Add(day)
		got, err := h.survey.PollOnce(h.t.Context(), 10)
		if err != nil || got.Stale != 1 {
			h.t.Fatalf("%+v, %v", got, err)
		}
		h.at(10 * day)
		i := h.status(id, survey.StatusCompleted)
		if n := len(h.sent()); n != 1 || i.Calls != 1 || !i.CallStartedOn.IsZero() || !h.stored(id).LeaseExpiresOn.IsZero() {
			h.t.Errorf("%d calls: %+v", n, i)
		}
	})
}

// A customer who answers while the reminder is with the provider: the answer
// stands, and the send is in the log.
func TestACallUnderWayDoesNotUndoAnAnswer(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{}, through(func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			if m.Attempt == 2 {
				if _, err := h.survey.Submit(ctx, tokenOf(linkIn(m)), rated); err != nil {
					h.t.Error(err)
				}
			}
			return h.send(ctx, m)
		}))
		id := h.linked(definition("0d", []string{"1d", "1d"}))
		h.drain()
		h.at(day)
		h.at(10 * day)
		i := h.status(id, survey.StatusCompleted)
		if diff := cmp.Diff([]string{"0/1 delivered", "1/2 delivered"}, h.log(id)); diff != "" {
			h.t.Error(diff)
		}
		if !i.LastSentOn.Equal(start.Add(day)) || !i.CallStartedOn.IsZero() || len(h.sent()) != 2 {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
	})
}

// Nobody who has answered before the first send gets one.
func TestWhoHasAnsweredIsNotSentTo(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("0d", []string{"1d"}))
		h.drain()
		if _, err := h.survey.Submit(h.t.Context(), tokenOf(linkIn(h.sent()[0])), rated); err != nil {
			h.t.Fatal(err)
		}
		h.at(day)
		h.at(60 * day)
		if h.status(id, survey.StatusCompleted); len(h.sent()) != 1 {
			h.t.Errorf("%d calls", len(h.sent()))
		}
	})
}
