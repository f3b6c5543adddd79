package notify_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// revoked is what a channel says whose credentials are refused.
var revoked = channel.Transient("401", 0, errors.New("invalid key")).Blame(channel.FaultAccount)

// outages are those that a scope is told of.
func (h *host) outages(scope notify.Scope) []notify.Outage {
	h.t.Helper()
	out, err := h.Support().Outages(h.t.Context(), scope)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

// letters ensures so many messages.
func (h *host) letters(n int, more ...func(*notify.OutgoingMessage)) {
	h.t.Helper()
	for i := range n {
		h.ensure(letter(fmt.Sprint("letter ", i), fmt.Sprint("r", i), more...))
	}
}

// A channel that refuses everything is probed by one message after another, at a
// growing distance, in the whole fleet; no try is counted, and the first that gets
// through ends it.
func TestAChannelThatIsOutIsProbedAndComesBackByItself(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		other := h.rival(h.provider)
		h.answer = failing(revoked)
		h.letters(5)
		h.drain()
		began := h.clk.Now()
		first := len(h.sent()) // those that were under way
		want := notify.Outage{Everywhere: true, Channel: channelKey, Class: channel.ClassTransient, Code: "401", Since: began, ProbeOn: began.Add(time.Second)}
		h.same("outages", []notify.Outage{want}, h.outages("tenant"))
		counted := 0
		for _, m := range all(h, notify.Messages) {
			counted += m.RetryCount
		}
		if counted != 1 {
			t.Errorf("%d tries were counted, want that of the first message", counted)
		}
		for probes, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			h.clk.Add(wait*time.Second - time.Millisecond)
			other.drain() // a moment too early
			h.drain()
			h.same("calls before the next probe", first+probes, len(h.sent()))
			h.clk.Add(time.Millisecond) // neither reads anew so soon
			other.drain()
			h.drain()
			h.same("calls with it", first+probes+1, len(h.sent()))
		}
		h.answer = nil
		h.clk.Add(time.Minute)
		h.drain()
		h.clk.Add(time.Second) // the other hears of it
		other.drain()
		h.clk.Add(10 * time.Minute)
		h.drain()
		for _, m := range all(h, notify.Messages) {
			if m.Status != notify.StatusSentToProvider || m.RetryCount > 1 {
				t.Errorf("%s: %s after %d tries", m.Key, m.Status, m.RetryCount)
			}
		}
		if out := h.outages("tenant"); len(out) != 0 {
			t.Errorf("still out: %+v", out)
		}
		h.same("audit", []string{"Outage by send pass: Over to Out", "Recover by send pass: Out to Over"}, h.actionsIn("", "channel_outage", "everywhere:channel:"+channelKey))
	})
}

// One tenant's revoked key stops that tenant only.
func TestAnOutageIsOfTheChannelOfItsScope(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		theirs := &provider{answer: failing(revoked)}
		source := &senders{keys: []string{channelKey}, channel: map[notify.Scope]channel.Channel{"north": theirs}}
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Channels: source}, h.provider)
		h.letters(3, in("north"))
		h.letters(3)
		h.drain()
		calls := len(theirs.sent())
		h.letters(6, in("north"))
		h.letters(6)
		h.drain()
		if len(theirs.sent()) != calls || len(h.sent()) != 6 {
			t.Errorf("%d calls of the tenant that is out, after %d; %d of the other", len(theirs.sent()), calls, len(h.sent()))
		}
		if out := h.outages("north"); len(out) != 1 || out[0].Scope != "north" || out[0].Everywhere || len(h.outages("tenant")) != 0 {
			t.Errorf("outages are %+v and %+v", out, h.outages("tenant"))
		}
	})
}

// The channel that those share who have none of their own may be out while others
// send.
func TestASharedChannelIsOutForThoseWhoShareIt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		theirs := &provider{}
		source := &senders{keys: []string{channelKey}, channel: map[notify.Scope]channel.Channel{"north": theirs}}
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Channels: source}, h.provider)
		h.answer = failing(revoked)
		h.letters(3)
		h.drain()
		calls := len(h.sent())
		h.clk.Add(time.Millisecond)
		h.letters(5, in("north"))
		h.letters(5)
		h.drain()
		if len(theirs.sent()) != 5 || len(h.sent()) != calls {
			t.Errorf("%d calls of the tenant, %d of the others after %d", len(theirs.sent()), len(h.sent()), calls)
		}
		h.answer = nil
		for range 3 {
			h.clk.Add(10 * time.Minute)
			h.drain()
		}
		if out := h.outages("tenant"); len(out) != 0 || len(h.texts()) != 5 {
			t.Errorf("%d were sent, still out: %+v", len(h.texts()), out)
		}
	})
}

// Health shows who is out, since when and why; an outage of a tenant is no business of
// the others, one of a shared channel is.
func TestHealthShowsWhoIsOut(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		theirs := &provider{answer: failing(channel.Permanent("403", nil).Blame(channel.FaultAccount))}
		source := &senders{keys: []string{channelKey}, channel: map[notify.Scope]channel.Channel{"north": theirs}}
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Channels: source}, h.provider)
		h.answer = failing(revoked)
		since := h.clk.Now()
		h.letters(1, in("north"))
		h.letters(1)
		h.drain()
		h.clk.Add(time.Hour)
		own := health.Outage{Scope: "north", Channel: channelKey, Class: "Permanent", Code: "403", Since: since}
		shared := health.Outage{Everywhere: true, Channel: channelKey, Class: "Transient", Code: "401", Since: since}
		byScope := func(a, b health.Outage) int { return strings.Compare(string(a.Scope), string(b.Scope)) }
		for reach, want := range map[storage.ScopeFilter][]health.Outage{
			storage.Everywhere(): {shared, own}, storage.Within("north"): {shared, own}, storage.Within("tenant"): {shared},
		} {
			got := h.health(reach)
			slices.SortFunc(got.Outages, byScope)
			h.same("outages", want, got.Outages)
			h.same("pauses", 0, len(got.Pauses))
		}
	})
}

// A channel that answers no call leaves each message in doubt. After twenty in a row it is
// out, and the others wait for it.
func TestAChannelThatNeverAnswersIsOut(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		dead := channel.Unknown("", context.DeadlineExceeded)
		silence := func(calls int) {
			h.answer = failing(dead)
			for i := range calls {
				h.ensure(letter(fmt.Sprint(h.clk.Now().UnixMilli(), " ", i), fmt.Sprint("r", i)))
			}
			h.drain()
			h.clk.Add(time.Second)
		}
		silence(19)
		h.answer = nil
		h.letters(1)
		h.drain()
		silence(19)
		if out := h.outages("tenant"); len(out) != 0 {
			t.Errorf("out though it answers: %+v", out)
		}
		since := h.clk.Now().Add(-time.Second)
		silence(1)
		out := h.outages("tenant")
		if len(out) != 1 || out[0].Class != channel.ClassUnknown || !out[0].Since.Equal(since) {
			t.Fatalf("outages are %+v", out)
		}
		calls := len(h.sent())
		h.clk.Add(time.Second)
		silence(10)
		if n := len(h.sent()) - calls; n != 1 {
			t.Errorf("%d calls of a channel that is out, want a probe", n)
		}
		h.answer = nil
		for range 3 {
			h.clk.Add(time.Minute)
			h.drain()
		}
		doubts, sent := 0, 0
		for _, m := range all(h, notify.Messages) {
			switch m.Status {
			case notify.StatusOutcomeUnknown:
				doubts++
			case notify.StatusSentToProvider:
				sent++
			}
		}
		if doubts != 40 || sent != 10 || len(h.outages("tenant")) != 0 {
			t.Errorf("%d in doubt, %d sent, outages %+v", doubts, sent, h.outages("tenant"))
		}
	})
}

// A message that the channel does not take while it takes others is not an outage: its
// tries are counted.
func TestOneMessageDoesNotStopItsChannel(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.letters(2)
		h.drain()
		h.answer = failing(revoked)
		h.ensure(letter("letter 2", "r2"))
		h.drain()
		if out := h.outages("tenant"); len(out) != 0 {
			t.Errorf("out: %+v", out)
		}
		if m := h.row("letter 2"); m.RetryCount != 1 {
			t.Errorf("its tries are not counted: %+v", m)
		}
	})
}

// Both are said once, however many calls fail, and hold no cause.
func TestAnOutageIsLoggedOnce(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		var log strings.Builder
		h.Notifier = notify.New(h.store, &notify.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, h.provider)
		h.answer = failing(revoked)
		h.letters(20)
		for range 5 {
			h.drain()
			h.clk.Add(time.Minute)
		}
		h.answer = nil
		h.clk.Add(time.Hour)
		h.drain()
		if text := log.String(); strings.Count(text, "a channel has stopped") != 1 || strings.Count(text, "a channel works again") != 1 || strings.Count(text, "\n") != 2 || strings.Contains(text, "invalid key") {
			h.t.Errorf("the log is:\n%s", text)
		}
	})
}

// Twenty-four hours of a provider that refuses everything, with a mail a minute: no
// message is lost, and the provider is asked once a minute in the end.
func TestADayWithoutAProviderLosesNothing(t *testing.T) {
	t.Parallel()
	clk := mockClock()
	h := newGated(t, memory.New(&memory.Options{Clock: clk}), clk, &notify.Options{Logger: quiet})
	var called []time.Time
	refuse := func(context.Context, channel.Message) (channel.Receipt, error) {
		called = append(called, clk.Now())
		return channel.Receipt{}, revoked
	}
	h.answer = refuse
	until := clk.Now().Add(24 * time.Hour)
	send := h.runner("notify.distributor", 50)
	for minute := 0; clk.Now().Before(until); minute++ {
		urgent := func(m *notify.OutgoingMessage) {
			if minute%10 == 0 {
				m.Lane, m.ValidUntil = storage.LaneUrgent, clk.Now().Add(48*time.Hour)
			}
		}
		h.ensure(letter(fmt.Sprint("minute ", minute), fmt.Sprint("r", minute), urgent))
		steps := 60
		if minute > 5 {
			steps = 1
		}
		for range steps {
			send()
			clk.Add(time.Minute / time.Duration(steps))
		}
	}
	for i := 1; i < len(called); i++ {
		if gap := called[i].Sub(called[i-1]); gap < time.Second {
			t.Fatalf("probe %d came after %v", i, gap)
		}
	}
	if len(called) > 24*60+10 {
		t.Errorf("%d calls in a day", len(called))
	}
	h.answer, h.calls = nil, nil
	send = h.runner("notify.distributor", 200) // in time a poller looks back, too
	for range 40 {
		send()
		clk.Add(time.Minute)
	}
	late := 0
	for i, m := range h.sent() {
		if strings.HasSuffix(m.Text, "0") {
			late = i
		}
	}
	if sent := len(h.texts()); sent != 24*60 || late > 401 {
		t.Errorf("%d of %d were sent, the last urgent one as number %d", sent, 24*60, late)
	}
	for _, m := range all(h, notify.Messages) {
		if m.Status != notify.StatusSentToProvider {
			t.Fatalf("%+v", m)
		}
	}
}

// runner polls one pass again and again, as a poller does.
func (h *host) runner(name string, batch int) func() {
	h.t.Helper()
	for _, p := range h.Passes() {
		if p.Name() == name {
			r := p.Runner(work.Options{Logger: quiet})
			return func() {
				if _, err := r.Poll(h.t.Context(), batch); err != nil {
					h.t.Fatal(err)
				}
			}
		}
	}
	h.t.Fatalf("no pass %s", name)
	return nil
}

// A message that is stale is not sent, whatever kept it; a job and its type say when.
func TestWhatIsStaleExpiresAndIsNotSent(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "code", Renderer: visitTemplate, Validity: 10 * time.Minute})
		h.Register(notify.Type{Name: "alarm", Renderer: visitTemplate, Urgent: true})
		start, hour := h.clk.Now(), time.Hour
		code, until, alarm, plain := visit("1", person("sam")), visit("2", person("sam")), visit("3", person("sam")), visit("4", person("sam"))
		code.Type, alarm.Type, until.ValidUntil = "code", "alarm", start.Add(3*hour)
		h.dispatch(code, until, alarm, plain)
		h.pause(notify.Extent{Everywhere: true})
		h.drain()
		want := map[string]time.Time{"code": start.Add(10 * time.Minute), "2": start.Add(3 * hour), "alarm": start.Add(24 * hour), "4": start.Add(7 * 24 * hour)}
		for _, m := range all(h, notify.Messages) {
			name := m.NotificationType
			if name == "visit" {
				name = m.Content.Subject[:1]
			}
			if !m.ValidUntil.Equal(want[name]) {
				t.Errorf("%s is valid until %v, want %v", name, m.ValidUntil, want[name])
			}
		}
		h.clk.Add(3 * hour)
		h.resume(notify.Extent{Everywhere: true})
		var mu sync.Mutex
		var heard []notify.ChangeKind
		h.Subscribe(notify.StatusFunc("host", func(_ context.Context, c notify.StatusChange) error {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, c.Kind)
			return nil
		}))
		h.run("notify.status")
		h.drain()
		expired := 0
		for _, m := range all(h, notify.Messages) {
			if m.Status == notify.StatusExpired && m.ReasonCode == reasons.TooLate && m.DueOn.IsZero() && !m.EndedOn.IsZero() {
				expired++
			}
		}
		if expired != 2 || len(h.sent()) != 2 {
			t.Errorf("%d expired, %d sent", expired, len(h.sent()))
		}
		h.same("heard", []notify.ChangeKind{notify.ChangeExpired, notify.ChangeExpired}, heard)
	})
}

// Tries do not outlive the validity.
func TestAMessageIsNotTriedLongerThanItIsValid(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.answer = failing(channel.Transient("busy", 0, nil))
		until := h.clk.Now().Add(40 * time.Minute)
		h.ensure(letter("a", "sam", func(m *notify.OutgoingMessage) { m.ValidUntil = until }))
		for range 8 {
			h.drain()
			if due := h.row("a").DueOn; !due.IsZero() {
				h.clk.Set(due)
			}
		}
		if m := h.row("a"); m.Status != notify.StatusExpired || !m.EndedOn.Equal(until) || len(h.sent()) != 3 {
			t.Errorf("%d calls: %+v", len(h.sent()), m)
		}
	})
}

// A message that a person wants sent however late waits for one after its last try, if it is
// not at fault itself.
func TestWhatIsValidForEverIsHeldInTheEnd(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.answer = failing(busy)
		h.ensure(letter("a", "sam"))
		edit(h, notify.Messages, func(m *notify.MessageRow) { m.ValidUntil = time.Time{} })
		for range 210 {
			h.drain()
			if due := h.row("a").DueOn; !due.IsZero() {
				h.clk.Set(due)
			}
		}
		if m := h.row("a"); m.HoldReason != reasons.RetriesExhausted || m.Status != notify.StatusRetryReady || len(h.sent()) != 201 {
			h.t.Errorf("%d calls: %+v", len(h.sent()), m)
		}
	})
}

// A person who names a message wants it, however stale it is; a recovery of all does
// not send what is stale.
func TestAPersonMaySendWhatIsStale(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.answer = failing(channel.Permanent("554", nil))
		h.ensure(letter("a", "sam"), letter("b", "kim"))
		h.drain()
		h.answer = nil
		h.clk.Add(30 * 24 * time.Hour)
		report, err := h.Support().RetryFailed(t.Context(), "tenant", notify.Failures{Channel: channelKey}, support, nil)
		if err != nil || report.Refused != 2 || !strings.HasPrefix(report.Messages[0].Refusal, "it was valid until") {
			t.Errorf("%+v, %v", report, err)
		}
		if _, err := h.Support().Retry(t.Context(), "tenant", h.row("a").Key, support); err != nil {
			t.Error(err)
		}
		h.calls = nil
		h.drain()
		h.same("sent", map[string]int{"a": 1}, h.texts())
	})
}

// A provider that says when it takes messages again is not called before, for a day.
func TestAChannelThatIsOutIsLeftAloneForAsLongAsItAsks(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{3 * time.Hour: 3 * time.Hour, 48 * time.Hour: 24 * time.Hour} {
		t.Run(asked.String(), func(t *testing.T) {
			visitsInMemory(t, func(h *host) {
				h.answer = failing(channel.Transient("429", asked, errors.New("limited")).Blame(channel.FaultAccount))
				h.letters(3)
				h.drain()
				calls := len(h.sent())
				h.answer = nil
				h.clk.Add(want - time.Second)
				h.drain()
				h.same("calls before", calls, len(h.sent()))
				h.clk.Add(time.Second)
				h.drain()
				if len(h.sent()) == calls {
					h.t.Error("no probe when it is time")
				}
			})
		})
	}
}
