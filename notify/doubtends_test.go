package notify_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// A provider that cannot tell is asked for as long as it remembers, at a growing distance;
// then a person decides.
func TestADoubtIsAskedAboutForAsLongAsTheProviderRemembers(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		k := &knowing{provider: h.provider, window: 48 * time.Hour}
		h.crashing(notify.Hold, k)
		began := h.clk.Now().Add(-lease)
		var waits []time.Duration
		h.drain()
		for m := h.status(notify.StatusOutcomeUnknown); !m.IsOnSupportHold; m = h.status(notify.StatusOutcomeUnknown) {
			waits = append(waits, m.DueOn.Sub(h.clk.Now()))
			h.clk.Set(m.DueOn)
			h.drain()
		}
		hour := time.Hour
		last := 48*hour - lease - 46*hour - 21*time.Minute
		h.same("waits", []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour, last}, waits)
		if !h.clk.Now().Equal(began.Add(k.window)) || k.asked != 9 || len(h.sent()) != 0 {
			t.Errorf("held after %v, asked %d times, %d calls", h.clk.Now().Sub(began), k.asked, len(h.sent()))
		}
	})
}

// While a provider is away it is asked every half an hour, and its doubts end soon after it
// is back: none waits for a person.
func TestTheDoubtsOfAProviderThatWasAwayEndByThemselves(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		k := &knowing{provider: h.provider, silent: errors.New("503")}
		h.crashing(notify.Hold, k)
		for until := h.clk.Now().Add(24 * time.Hour); h.clk.Now().Before(until); {
			h.drain()
			m := h.status(notify.StatusOutcomeUnknown)
			if wait := m.DueOn.Sub(h.clk.Now()); m.IsOnSupportHold || wait > 30*time.Minute {
				t.Fatalf("it waits for %v: %+v", wait, m)
			}
			h.clk.Set(m.DueOn)
		}
		k.silent, k.knows = nil, channel.LookupResult{Status: channel.LookupAccepted}
		h.drain()
		if m := h.status(notify.StatusSentToProvider); m.Resolution != notify.ResolvedByLookup || k.asked > 52 {
			t.Errorf("asked %d times: %+v", k.asked, m)
		}
	})
}

// A message that may be sent without the provider's word does not wait for it.
func TestAMessageThatCanDoWithoutTheAnswerGoesOn(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		k := &knowing{provider: h.provider, silent: errors.New("503")}
		h.crashing(notify.AssumeSent, k)
		began := h.clk.Now()
		h.settle()
		if m := h.status(notify.StatusSentToProvider); m.Resolution != notify.ResolvedByAssumption || k.asked != 4 || h.clk.Now().Sub(began) != 21*time.Minute {
			t.Errorf("asked %d times in %v: %+v", k.asked, h.clk.Now().Sub(began), m)
		}
	})
}

// A day on which a provider answers every call with 500, and its search too: all messages
// are sent within an hour after it, and nobody has to do anything.
func TestADayOf500LeavesNothingToAPerson(t *testing.T) {
	t.Parallel()
	clk := mockClock()
	h := newGated(t, memory.New(&memory.Options{Clock: clk}), clk, &notify.Options{Logger: quiet})
	k := &knowing{provider: h.provider, silent: errors.New("500"), knows: channel.LookupResult{Status: channel.LookupAbsent}}
	h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, k)
	h.answer = failing(channel.Unknown("500", nil))
	h.letters(30)
	for i, until := 0, clk.Now().Add(24*time.Hour); clk.Now().Before(until); i++ {
		if i%6 == 0 {
			h.ensure(letter(fmt.Sprint("later ", i), fmt.Sprint("later", i)))
		}
		h.drain()
		clk.Add(5 * time.Minute)
	}
	if n := len(h.sent()); n > 20+64+24*5 {
		t.Errorf("%d calls of a provider that answers none", n)
	}
	h.answer, k.silent = nil, nil
	for range 30 {
		h.drain()
		clk.Add(2 * time.Minute)
	}
	for _, m := range all(h, notify.Messages) {
		if m.Status != notify.StatusSentToProvider {
			t.Errorf("%s: %s %s, due %v, doubts %d", m.Content.Text, m.Status, m.ReasonCode, m.DueOn.Sub(clk.Now()), m.Doubts)
		}
	}
}

// One decision settles the doubts of one outage: those of its account and its hours. A dry
// run says the same, and how doubts of the channel ended of which the provider told.
func TestOneDecisionSettlesTheDoubtsOfAnOutage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.answer = failing(channel.Unknown("lost", nil))
		h.letters(6)
		h.drain()
		own := h.row("letter 5") // it went out through another account
		own.OwnAccount = true
		h.inOne(func(tx storage.Tx) error { return notify.Messages.Save(t.Context(), tx, own) })
		began := h.clk.Now()
		h.track(about(h.row("letter 0"), channel.KindDelivered), about(h.row("letter 1"), channel.KindDelivered))
		h.clk.Add(3 * time.Hour)
		h.ensure(letter("another day", "sam"))
		h.ensure(letter("elsewhere", "sam", in("north")))
		h.drain()
		doubts := notify.Doubts{Channel: channelKey, From: began, Until: began.Add(time.Hour)}
		dry, err := h.Support().ResolveHeld(t.Context(), "tenant", doubts, notify.DecideSent, support, &notify.ActionOptions{DryRun: true})
		if err != nil || !dry.DryRun || dry.Done != 3 || dry.Arrived != 2 || dry.Absent != 0 {
			t.Fatalf("%+v, %v", dry, err)
		}
		if m := h.row("letter 3"); m.Status != notify.StatusOutcomeUnknown {
			t.Errorf("a dry run wrote %+v", m)
		}
		done, err := h.Support().ResolveHeld(t.Context(), "tenant", doubts, notify.DecideSent, support, nil)
		dry.DryRun = false
		if err != nil {
			t.Fatal(err)
		}
		h.same("report", dry, done)
		still := []string{}
		for _, m := range all(h, notify.Messages) {
			if m.Status == notify.StatusOutcomeUnknown {
				still = append(still, m.Content.Text)
			}
		}
		slices.Sort(still)
		h.same("still in doubt", []string{"another day", "elsewhere", "letter 5"}, still)
		h.same("audit", []string{"ResolveSent by kim: OutcomeUnknown to SentToProvider"}, h.actions("outgoing_message", h.row("letter 3").Key))

		doubts.OwnAccount = true
		ofOwn, err := h.Support().ResolveHeld(t.Context(), "tenant", doubts, notify.DecideSent, support, nil)
		if err != nil || ofOwn.Done != 1 {
			t.Errorf("of its own account: %+v, %v", ofOwn, err)
		}
		doubts.OwnAccount = false
		doubts.Everywhere, doubts.Until = true, h.clk.Now().Add(time.Hour)
		h.clk.Add(8 * 24 * time.Hour)
		again, err := h.Support().ResolveHeld(t.Context(), "", doubts, notify.DecideSendAgain, support, nil)
		if err != nil || again.Done != 0 || again.Refused != 2 || !strings.HasPrefix(again.Messages[0].Refusal, "it was valid until") {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

// doubtful leaves messages with the texts in doubt, whose calls began now: as lost by a
// channel, which a chain has called in place of the first one unless it is empty.
func (h *host) doubtful(via string, valid time.Time, texts ...string) {
	h.t.Helper()
	rows := all(h, notify.Messages)
	h.inOne(func(tx storage.Tx) error {
		var save []*notify.MessageRow
		for _, m := range rows {
			if !slices.Contains(texts, m.Content.Text) {
				continue
			}
			m.Status, m.DueOn, m.Doubts, m.Calls, m.CallStartedOn, m.Via = notify.StatusOutcomeUnknown, time.Time{}, 1, 1, h.clk.Now(), via
			m.IsOnSupportHold, m.HoldReason, m.ValidUntil = true, reasons.OutcomeUnknown, valid
			save = append(save, m)
		}
		return notify.Messages.Save(h.t.Context(), tx, save...)
	})
}

// How earlier doubts ended is told for each page: what a person settled, by the pages
// before, is not among them.
func TestEachPageOfDoubtsSaysHowEarlierOnesEnded(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.ensure(letter("arrived", "sam"), letter("absent", "sam"))
		h.doubtful("", time.Time{}, "arrived")
		h.track(about(h.row("arrived"), channel.KindDelivered))
		absent := h.row("absent")
		absent.Status, absent.DueOn, absent.Resolution, absent.ResolvedOn = notify.StatusSentToProvider, time.Time{}, notify.ResolvedAsAbsent, h.clk.Now()
		h.inOne(func(tx storage.Tx) error { return notify.Messages.Save(h.t.Context(), tx, absent) })
		h.clk.Add(time.Hour)
		texts := make([]string, 1002)
		for i := range texts {
			texts[i] = fmt.Sprint("doubt ", i)
			h.ensure(letter(texts[i], "kim"))
		}
		h.doubtful("", time.Time{}, texts...)
		doubts := notify.Doubts{Channel: channelKey, From: h.clk.Now(), Until: h.clk.Now().Add(time.Hour), Limit: 501}
		for _, opts := range []*notify.ActionOptions{{DryRun: true}, nil} {
			doubts.After = ""
			for page := range 2 {
				h.clk.Add(time.Second)
				report, err := h.Support().ResolveHeld(h.t.Context(), "tenant", doubts, notify.DecideSent, support, opts)
				if err != nil || report.Done != 501 || report.Arrived != 1 || report.Absent != 1 {
					h.t.Errorf("page %d, dry %t: %d done, %d arrived, %d absent: %v", page, report.DryRun, report.Done, report.Arrived, report.Absent, err)
				}
				doubts.After = report.Next
			}
		}
	})
}

// The doubts of a channel are those of the calls that it got, by whatever key messages ask
// for it.
func TestTheDoubtsOfAChainAreThoseOfTheChannelThatWasCalled(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.ensure(letter("arrived", "sam"), letter("first", "sam"), letter("next", "sam"))
		h.doubtful(nextKey, time.Time{}, "arrived", "next")
		h.doubtful(channelKey, time.Time{}, "first")
		h.with(&notify.Options{ReportedBy: map[string]string{nextKey: "test"}}, h.provider)
		h.track(about(h.row("arrived"), channel.KindDelivered))
		doubts := notify.Doubts{Channel: nextKey, From: h.clk.Now(), Until: h.clk.Now().Add(time.Hour)}
		report, err := h.Support().ResolveHeld(t.Context(), "tenant", doubts, notify.DecideSent, support, nil)
		if err != nil || report.Done != 1 || report.Messages[0].Key != h.row("next").Key || report.Arrived != 1 {
			t.Errorf("%+v, %v", report, err)
		}
		doubts.Channel = channelKey
		if report, err = h.Support().ResolveHeld(t.Context(), "tenant", doubts, notify.DecideSent, support, nil); err != nil || report.Done != 1 || report.Arrived != 0 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

// A decision about many does not make a message valid for ever, which a person has not
// named.
func TestADecisionAboutManyLeavesTheirValidity(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		until := h.clk.Now().Add(time.Hour)
		h.ensure(letter("a", "sam"))
		h.doubtful("", until, "a")
		doubts := notify.Doubts{Channel: channelKey, From: h.clk.Now(), Until: until}
		report, err := h.Support().ResolveHeld(t.Context(), "tenant", doubts, notify.DecideSendAgain, support, nil)
		if err != nil || report.Done != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		if m := h.row("a"); m.Status != notify.StatusRetryReady || !m.ValidUntil.Equal(until) {
			t.Errorf("%+v", m)
		}
	})
}

func TestDoubtsThatNobodyCanMeanAreRefused(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		now := h.clk.Now()
		whole := notify.Doubts{Channel: channelKey, From: now, Until: now.Add(time.Hour)}
		with := func(change func(*notify.Doubts)) notify.Doubts {
			d := whole
			change(&d)
			return d
		}
		for want, d := range map[string]notify.Doubts{
			"no Channel":         with(func(d *notify.Doubts) { d.Channel = "" }),
			"missing or invalid": with(func(d *notify.Doubts) { d.Until = d.From }),
			"OwnAccount cannot be combined with Everywhere": with(func(d *notify.Doubts) { d.OwnAccount, d.Everywhere = true, true }),
			"a scope cannot be combined with Everywhere":    with(func(d *notify.Doubts) { d.Everywhere = true }),
			"Limit":                with(func(d *notify.Doubts) { d.Limit = 1001 }),
			"the Next of a report": with(func(d *notify.Doubts) { d.After = "?" }),
		} {
			if _, err := h.Support().ResolveHeld(h.t.Context(), "tenant", d, notify.DecideSent, support, nil); err == nil || !strings.Contains(err.Error(), want) {
				h.t.Errorf("%v, want %q", err, want)
			}
		}
		if _, err := h.Support().ResolveHeld(h.t.Context(), "tenant", whole, "Perhaps", support, nil); err == nil || !strings.Contains(err.Error(), "not a decision") {
			h.t.Error(err)
		}
	})
}

// A provider that never tells is asked for 45 days at most, if it remembers for ever or for a
// year.
func TestADoubtOfWhichNobodyEverTellsIsHeld(t *testing.T) {
	for name, window := range map[string]time.Duration{"for ever": 0, "for a year": 364 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				k := &knowing{provider: h.provider, window: window}
				h.crashing(notify.Hold, k)
				began := h.clk.Now().Add(-lease)
				h.drain()
				m := h.status(notify.StatusOutcomeUnknown)
				for range 100 {
					if m.IsOnSupportHold {
						break
					}
					h.clk.Set(m.DueOn)
					h.drain()
					m = h.status(notify.StatusOutcomeUnknown)
				}
				h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.OutcomeUnknown}, m.SupportHold)
				h.same("asked for", 45*24*time.Hour, h.clk.Now().Sub(began))
			})
		})
	}
}

// A window that was over by the next call has no call to count from, and is one of the past.
func TestADoubtAfterItsWindowIsHeldToo(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.crashing(notify.Hold, &knowing{provider: h.provider, window: 48 * time.Hour})
		h.drain()
		edit(h, notify.Messages, func(m *notify.MessageRow) {
			m.CallStartedOn, m.IdempotentUntil, m.DueOn = time.Time{}, h.clk.Now().Add(-49*time.Hour), h.clk.Now()
		})
		h.drain()
		h.same("hold", driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.OutcomeUnknown}, h.status(notify.StatusOutcomeUnknown).SupportHold)
	})
}

// The account that was called is there no more, so that nobody can be asked: the type's
// policy counts, after a while in which it may come back.
func TestADoubtWhoseAccountIsGoneEndsByItsPolicy(t *testing.T) {
	for policy, want := range map[notify.InDoubt]notify.Resolution{
		notify.Hold: notify.ResolvedByHold, notify.AssumeSent: notify.ResolvedByAssumption, notify.Resend: notify.ResolvedByResend,
	} {
		t.Run(string(policy), func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				k := &knowing{provider: &provider{}}
				accounts := own{"tenant": k}
				h.with(&notify.Options{Channels: accounts}, h.provider)
				h.Register(notify.Type{Name: "doubtful", InDoubt: policy})
				h.ensure(letter("a", "sam", func(m *notify.OutgoingMessage) { m.NotificationType = "doubtful" }))
				k.answer = failing(channel.Unknown("lost", nil))
				h.drain()
				delete(accounts, "tenant")
				began := h.clk.Now()
				for range 3 {
					h.clk.Set(h.row("a").DueOn)
					h.drain()
				}
				if m := h.row("a"); m.Resolution != want || m.IsOnSupportHold != (policy == notify.Hold) || h.clk.Now().Sub(began) != 21*time.Minute {
					t.Errorf("after %v: %+v", h.clk.Now().Sub(began), m)
				}
				h.drain()
				h.same("sent by the account that there is", policy == notify.Resend, len(h.sent()) == 1 && h.row("a").Status == notify.StatusSentToProvider)
				h.same("by its own", 1, len(k.sent()))
			})
		})
	}
}

// hidden are accounts whose source fails for a while.
type hidden struct {
	own
	err error
}

func (h *hidden) Channel(ctx context.Context, scope notify.Scope, key string) (channel.Channel, error) {
	if h.err != nil {
		return nil, h.err
	}
	return h.own.Channel(ctx, scope, key)
}

// A source of channels that fails for an hour says nothing of the account: the provider is
// asked when it is there again, and no person is.
func TestADoubtWaitsForASourceThatFails(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		k := &knowing{provider: &provider{}}
		accounts := &hidden{own: own{"tenant": k}}
		h.with(&notify.Options{Channels: accounts}, h.provider)
		h.ensure(letter("a", "sam"))
		k.answer = failing(channel.Unknown("lost", nil))
		h.drain()
		accounts.err = errors.New("the secrets are away")
		began := h.clk.Now()
		for h.clk.Now().Sub(began) < time.Hour {
			h.clk.Set(h.row("a").DueOn)
			h.drain()
			if m := h.row("a"); m.IsOnSupportHold {
				t.Fatalf("after %v: %+v", h.clk.Now().Sub(began), m)
			}
		}
		accounts.err = nil
		k.knows = channel.LookupResult{Status: channel.LookupAccepted}
		h.clk.Set(h.row("a").DueOn)
		h.drain()
		if m := h.row("a"); m.Status != notify.StatusSentToProvider || m.Resolution != notify.ResolvedByLookup {
			t.Errorf("%+v", m)
		}
	})
}

// A person has it sent again by the account that there is.
func TestAPersonSendsAgainByAnotherAccount(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		gone := &provider{answer: failing(channel.Unknown("lost", nil))}
		accounts := own{"tenant": gone}
		h.with(&notify.Options{Channels: accounts}, h.provider)
		h.ensure(letter("a", "sam"))
		h.drain()
		delete(accounts, "tenant")
		if err := h.Support().Resolve(t.Context(), "tenant", h.row("a").Key, notify.DecideSendAgain, support); err != nil {
			t.Fatal(err)
		}
		h.drain()
		if m := h.row("a"); m.Status != notify.StatusSentToProvider || m.OwnAccount || len(h.sent()) != 1 {
			t.Errorf("%+v", m)
		}
	})
}
