package notify_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/belfry-go/belfry/storage/driver"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// about is an event of the provider "test" about a message.
func about(m *notify.MessageRow, k channel.StatusKind) channel.StatusEvent {
	return channel.StatusEvent{Provider: "test", EventID: m.MessageID + string(k), Kind: k, MessageID: m.MessageID, On: storetest.Start.Add(-time.Second)}
}

// track tells what the provider reports.
func (h *host) track(events ...channel.StatusEvent) notify.TrackReport {
	h.t.Helper()
	rep, err := h.Track(h.t.Context(), events...)
	if err != nil {
		h.t.Fatal(err)
	}
	return rep
}

// accepted has a message that the provider has taken.
func (h *host) accepted() *notify.MessageRow {
	h.t.Helper()
	h.dispatch(visit("7", person("sam")))
	h.drain()
	return h.status(notify.StatusSentToProvider)
}

func TestACallbackSettlesADoubtAndEndsTheHold(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.inDoubt()
		e := about(m, channel.KindDelivered)
		e.ProviderMessageID = "p1"
		h.same("report", notify.TrackReport{Applied: 1}, h.track(e))
		m = h.status(notify.StatusDelivered)
		h.same("hold", driver.SupportHold{}, m.SupportHold)
		if m.Resolution != notify.ResolvedByCallback || m.ProviderMessageID != "p1" || !m.DueOn.IsZero() || m.ReasonCode != "" || !m.EndedOn.Equal(e.On) || !m.SentOn.Equal(storetest.Start) {
			t.Errorf("message is %+v", m)
		}
		if err := h.Support().Resolve(t.Context(), "tenant", m.Key, notify.DecideSendAgain, support); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("it is sent again: %v", err)
		}
		h.clk.Add(24 * time.Hour)
		h.drain()
		if n := len(h.sent()); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestACallbackConfirmsWhatWasAssumed(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.crashing(notify.AssumeSent, h.provider)
		h.drain()
		m := h.status(notify.StatusSentToProvider)
		h.track(about(m, channel.KindDelivered))
		if m := h.status(notify.StatusDelivered); m.Resolution != notify.ResolvedByCallback {
			t.Errorf("message is %+v", m)
		}
	})
}

// The provider refuses a call and reports that an earlier one arrived: the retry
// that waits is not made.
// campus is a channel whose key names nobody.
type campus struct {
	*provider
	by string
}

func (campus) Key() string          { return "email:campus" }
func (c campus) ReportedBy() string { return c.by }

// A proof says who calls, and not that the message is the caller's.
func TestACallbackOfAnotherProviderChangesNothing(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam")))
		h.run("notify.scheduler")
		h.run("notify.generator")
		m := only(h, notify.Messages)
		foreign := func(kind channel.StatusKind) channel.StatusEvent {
			e := about(m, kind)
			e.Provider, e.Lasting = "twilio", true
			return e
		}
		h.same("report", notify.TrackReport{Waiting: 4},
			h.track(foreign(channel.KindDelivered), foreign(channel.KindBounced), foreign(channel.KindComplained), foreign(channel.KindUnsubscribed)))
		h.clk.Add(2 * time.Minute)
		h.run("notify.tracker")
		h.status(notify.StatusCreated)
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
		facts, err := h.Support().DeliveryFacts(t.Context(), "tenant", m.MessageID)
		h.same("facts", 0, len(facts))
		if err != nil {
			t.Error(err)
		}
		h.drain()
		h.same("report of its own", notify.TrackReport{Applied: 1}, h.track(about(only(h, notify.Messages), channel.KindDelivered)))
		h.status(notify.StatusDelivered)
	})
}

func TestACallbackIsKnownByWhoReportsAboutItsChannel(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, campus{h.provider, "sendgrid"})
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		sam := person("sam")
		sam.Channel = "email:campus"
		h.dispatch(visit("7", sam))
		h.drain()
		says := func(provider string) channel.StatusEvent {
			e := about(only(h, notify.Messages), channel.KindAccepted)
			e.Provider = provider
			return e
		}
		h.same("another", notify.TrackReport{Waiting: 2}, h.track(says("campus"), says("test")))
		h.same("its own", notify.TrackReport{Applied: 1}, h.track(says("sendgrid")))
		front := notify.New(h.store, &notify.Options{Logger: quiet}) // takes callbacks only
		e := says("sendgrid")
		e.EventID += "later"
		rep, err := front.Track(t.Context(), e)
		h.same("nobody says so", notify.TrackReport{Waiting: 1}, rep)
		e.EventID += "still"
		front = notify.New(h.store, &notify.Options{Logger: quiet, ReportedBy: map[string]string{"email:campus": "sendgrid"}})
		rep, err2 := front.Track(t.Context(), e)
		h.same("the host says so", notify.TrackReport{Applied: 1}, rep)
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
	})
}

func TestACallbackPreventsTheRetry(t *testing.T) {
	for kind, status := range map[channel.StatusKind]string{channel.KindAccepted: notify.StatusSentToProvider, channel.KindFailed: notify.StatusFailedFinal, channel.KindBounced: notify.StatusSentToProvider} {
		t.Run(string(kind), func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.answer = failing(channel.Transient("busy", 0, nil))
				h.dispatch(visit("7", person("sam")))
				h.drain()
				h.track(about(h.status(notify.StatusRetryReady), kind))
				h.clk.Add(24 * time.Hour)
				h.drain()
				if m := h.status(status); !m.DueOn.IsZero() || !m.NextRetryOn.IsZero() || len(h.sent()) != 1 {
					t.Errorf("message is %+v after %d calls", m, len(h.sent()))
				}
			})
		})
	}
}

// The callback overtakes the answer of the call that it is about.
func TestACallbackMayComeBeforeOurOwnSettle(t *testing.T) {
	for name, answer := range map[string]error{"accepted": nil, "cut": channel.Unknown("cut", nil), "busy": channel.Transient("busy", 0, nil)} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.waiting()
				h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
					h.track(about(only(h, notify.Messages), channel.KindDelivered))
					return channel.Receipt{ID: "p1"}, answer
				}
				h.drain()
				m := h.status(notify.StatusDelivered)
				if !m.LeaseExpiresOn.IsZero() || !m.DueOn.IsZero() || (m.ProviderMessageID == "p1") != (answer == nil) {
					t.Errorf("message is %+v", m)
				}
				h.clk.Add(24 * time.Hour)
				h.drain()
				if n := len(h.sent()); n != 1 {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}

// A worker has claimed the message for its retry when the callback comes: the call
// does not start.
func TestACallbackStopsACallThatHasNotStarted(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		rows := h.claim([]string{notify.StatusCreated}, notify.StatusSending)
		h.track(about(rows[0], channel.KindAccepted))
		rows[0].Calling(storetest.Start)
		ours, err := work.Start(t.Context(), h.store, notify.Messages, storetest.Start.Add(lease), rows)
		if err != nil || ours[0] {
			t.Errorf("the call starts: %v, %v", ours, err)
		}
		h.clk.Add(24 * time.Hour)
		h.drain() // nobody takes it over
		h.status(notify.StatusSentToProvider)
	})
}

func TestARepeatedCallbackChangesNothing(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		all := []channel.StatusEvent{about(m, channel.KindComplained), about(m, channel.KindDelivered), about(m, channel.KindDelivered)}
		h.same("report", notify.TrackReport{Applied: 2, Repeated: 1}, h.track(all...))
		if err := h.Contacts().Unsuppress(t.Context(), "tenant", notify.Destination{"email", "sam@example.com"}, support); err != nil {
			t.Fatal(err)
		}
		before := h.status(notify.StatusDelivered)
		h.same("repeat", notify.TrackReport{Repeated: 3}, h.track(all...))
		h.same("message", before.Version, h.status(notify.StatusDelivered).Version)
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
	})
}

func TestConcurrentDuplicatesAreAppliedOnce(t *testing.T) {
	heard(t, func(h *host, c *crm) {
		h.dispatch(visit("7", person("sam"), person("kim"), person("alex")))
		h.drain()
		var events []channel.StatusEvent
		for _, m := range all(h, notify.Messages) {
			events = append(events, about(m, channel.KindDelivered), about(m, channel.KindBounced))
		}
		var mu sync.Mutex
		var total notify.TrackReport
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				mine := append(append([]channel.StatusEvent{}, events[i%6:]...), events[:i%6]...)
				rep, err := h.Track(h.t.Context(), mine...)
				if err != nil {
					h.t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				total.Applied += rep.Applied
				total.Repeated += rep.Repeated
				total.Waiting += rep.Waiting
				total.Refused += rep.Refused
			})
		}
		wg.Wait()
		h.same("reports", notify.TrackReport{Applied: 6, Repeated: 42}, total)
		h.drain()
		h.same("changes", 6, len(c.lines()))
	})
}

func TestAMessageOfAnotherTenantKeepsItsTenant(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		for _, scope := range []notify.Scope{"north", "south"} {
			j := visit("7", person("sam"))
			j.Scope = scope
			h.dispatch(j)
		}
		h.drain()
		for _, m := range all(h, notify.Messages) {
			if m.Scope == "north" {
				h.track(about(m, channel.KindComplained), about(m, channel.KindOpened))
			}
		}
		for _, m := range all(h, notify.Messages) {
			facts, err := h.Support().DeliveryFacts(t.Context(), "south", m.MessageID)
			if err != nil || len(facts) != 0 {
				t.Errorf("south reads %v, %v", facts, err)
			}
			want := map[notify.Scope]string{"north": notify.StatusOpened, "south": notify.StatusSentToProvider}[m.Scope]
			h.same(string(m.Scope), want, m.Status)
		}
		h.same("north", []string{"Complaint test"}, h.suppressions("north"))
		h.same("south", []string(nil), h.suppressions("south"))
	})
}

func TestTheHostHearsOfDeliveryOnceAndOfEachBounce(t *testing.T) {
	heard(t, func(h *host, c *crm) {
		m := h.accepted()
		soft, hard := about(m, channel.KindBounced), about(m, channel.KindBounced)
		soft.EventID, soft.Code = "soft", "450"
		hard.EventID, hard.Code, hard.Lasting = "hard", "550", true
		h.track(about(m, channel.KindOpened)) // whoever opens it has got it
		h.track(about(m, channel.KindDelivered), soft)
		h.track(hard, soft)
		h.drain()
		h.same("changes", []string{"Bounced sam 450", "Bounced sam 550", "Delivered sam "}, c.lines())
		for _, change := range c.heard {
			h.same("lasting", change.Reason == "550", change.Lasting)
		}
	})
}

func TestTheHostHearsThatTheProviderGaveUp(t *testing.T) {
	heard(t, func(h *host, c *crm) {
		m := h.accepted()
		e := about(m, channel.KindFailed)
		e.Code = "30005\r\nx"
		h.track(e)
		h.drain()
		h.same("changes", []string{"Failed sam 30005x"}, c.lines())
		h.same("reason", "30005x", h.status(notify.StatusFailedFinal).ReasonCode)
	})
}

// All that an event leads to is in one transaction: none of it without the others.
func TestACallbackThatIsRolledBackHasNotCome(t *testing.T) {
	heard(t, func(h *host, c *crm) {
		m := h.accepted()
		events := []channel.StatusEvent{about(m, channel.KindComplained), about(m, channel.KindDelivered)}
		no := errors.New("no")
		err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
			_, err := h.WithTx(tx).Track(h.t.Context(), events...)
			return errors.Join(err, no)
		})
		if !errors.Is(err, no) {
			h.t.Error(err)
		}
		h.drain()
		h.status(notify.StatusSentToProvider)
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
		h.same("changes", 0, len(c.lines()))
		h.same("report", notify.TrackReport{Applied: 2}, h.track(events...))
	})
}

func TestAnEventThatSaysTooLittleIsRefused(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		m := h.accepted()
		good := about(m, channel.KindDelivered)
		for want, spoil := range map[string]func(*channel.StatusEvent){
			"a provider's name is":      func(e *channel.StatusEvent) { e.Provider = "Test\x1f" },
			"no EventID":                func(e *channel.StatusEvent) { e.EventID = "" },
			"Kind is unknown":           func(e *channel.StatusEvent) { e.Kind = "Burnt" },
			"neither MessageID nor":     func(e *channel.StatusEvent) { e.MessageID = "" },
			"longer than 200":           func(e *channel.StatusEvent) { e.MessageID = strings.Repeat("x", 201) },
			"holds control characters":  func(e *channel.StatusEvent) { e.ProviderMessageID = "a\x00b" },
			"or holds control characte": func(e *channel.StatusEvent) { e.MessageID = "\xff" },
		} {
			bad := good
			spoil(&bad)
			_, err := h.Track(t.Context(), good, bad)
			if !errors.Is(err, notify.ErrStatusEvent) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "argument 2") {
				t.Errorf("%s: %v", want, err)
			}
		}
		h.status(notify.StatusSentToProvider)
		good.EventID = strings.Repeat("\x00é", 5000) // any text names an event
		good.On = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		h.track(good)
		if m := h.status(notify.StatusDelivered); !m.EndedOn.Equal(storetest.Start) {
			t.Errorf("ended on %v", m.EndedOn)
		}
	})
}

// A webhook of a thousand events takes as many statements as one of ten. It is not
// parallel: whether a large Ensure reads first depends on what the last ones in the
// process have met.
func TestACallbackTakesAConstantNumberOfStatements(t *testing.T) {
	h := hostInMemory(t)
	counts := map[int]int{}
	for _, n := range []int{9, 10, 1000} { // the first of a process reads first
		var people []notify.Recipient
		for i := range n {
			people = append(people, person(fmt.Sprint("p", n, "-", i)))
		}
		h.dispatch(visit(fmt.Sprint(n), people...))
		h.drain()
		var events []channel.StatusEvent
		for _, m := range all(h, notify.Messages) {
			if m.Status == notify.StatusSentToProvider {
				e := about(m, channel.KindBounced)
				e.Lasting = true
				events = append(events, about(m, channel.KindDelivered), e)
			}
		}
		store, calls := storetest.Counting(h.store)
		n2 := notify.New(store, &notify.Options{Logger: quiet})
		rep, err := n2.Track(h.t.Context(), events[:n]...)
		if err != nil || rep.Applied != n {
			h.t.Fatal(rep, err)
		}
		counts[n] = calls.Count()
	}
	h.same("statements", counts[10], counts[1000])
}
