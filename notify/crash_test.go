package notify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/postgres"
)

// crash is a way in which a process is lost at a transaction.
type crash struct {
	after bool // the commit happens, and its reply is lost; else the commit does not
	dies  bool // and the process with it: it writes nothing more, and calls nobody
}

// flaky is a process whose store loses one transaction.
type flaky struct {
	*storetest.Spy
	armed  bool
	failAt int
	crash

	mu   sync.Mutex
	seen int
	lost int // the number of the transaction that is lost
	dead bool
}

var errLost = errors.New("disk full")

func newFlaky(store storage.Store, failAt int, how crash) *flaky {
	f := &flaky{failAt: failAt, crash: how}
	f.Spy = &storetest.Spy{Store: store, Hook: f.hook}
	return f
}

func (f *flaky) hook(c storetest.Call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.Verb == storetest.Begin {
		f.count(c.Number)
	}
	switch lost := f.lost == c.Number; {
	case c.Verb == storetest.Begin && f.dead && !lost, c.Verb == storetest.Commit && lost && !f.after:
		return errLost
	case c.Verb == storetest.Committed && lost: // since it is lost after its commit
		return storage.ErrOutcomeUnknown
	}
	return nil
}

// count counts a transaction.
func (f *flaky) count(number int) {
	if !f.armed || f.dead {
		return
	}
	if f.seen++; f.seen == f.failAt {
		f.lost, f.dead = number, f.dies
	}
}

// revive starts a process again, or says that it need not be.
func (f *flaky) revive() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.dead
	f.dead = false
	return was
}

// The job is written by somebody else between the scheduler's look and its
// commit: it is looked at again, in the same transaction.
func TestAJobThatChangesUnderTheSchedulerIsLoadedAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam")))
		stale := only(h, notify.Jobs)
		edit(h, notify.Jobs, func(*notify.JobRow) {})
		h.inOne(func(tx storage.Tx) error {
			return h.WakeJob(t.Context(), tx, stale)
		})
		if j := only(h, notify.Jobs); j.Status != notify.StatusReady || !j.DueOn.Equal(storetest.Start) {
			t.Fatalf("job is %s", j.Status)
		}
		h.inOne(func(tx storage.Tx) error {
			return h.WakeJob(t.Context(), tx, stale)
		})
		if j := only(h, notify.Jobs); j.Version != 3 {
			t.Errorf("a ready job was written again: version %d", j.Version)
		}
	})
}

// Whatever transaction of the passes meets a fail-over, nothing is late by more than a
// moment for it, and no try is counted.
func TestAFailOverCostsNoTry(t *testing.T) {
	t.Parallel()
	for number := 1; ; number++ {
		clk := clock.NewMock()
		clk.Set(storetest.Start)
		spy := &storetest.Spy{Store: memory.New(&memory.Options{Clock: clk})}
		p := &provider{}
		h := newHost(t, spy, clk, p, p)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate, Revalidator: proceeding{}})
		h.dispatch(visit("7", person("sam")))
		clk.Add(time.Hour) // it is late, so its revalidator is asked
		lost := spy.Begun() + number
		spy.SetHook(storetest.Lose(lost, false))
		for range 4 {
			for _, pass := range h.Passes() {
				_, _ = pass.Runner(work.Options{Logger: quiet}).Poll(t.Context(), 500)
			}
			clk.Add(time.Second)
		}
		met := spy.Begun() >= lost
		spy.SetHook(nil)
		if n := len(h.sent()); n != 1 {
			t.Errorf("transaction %d: sent %d times", number, n)
		}
		if m, j := only(h, notify.Messages), only(h, notify.Jobs); m.RetryCount != 0 || j.RetryCount != 0 {
			t.Errorf("transaction %d: %d and %d tries were counted: %s, %s", number, m.RetryCount, j.RetryCount, m.ReasonCode, j.ReasonCode)
		}
		if !met {
			return
		}
	}
}

// proceeding is a revalidator that lets everything go out.
type proceeding struct{}

func (proceeding) Revalidate(_ context.Context, jobs []notify.Job) ([]gate.Verdict, error) {
	out := make([]gate.Verdict, len(jobs))
	for i := range out {
		out[i].Action = gate.ActionProceed
	}
	return out, nil
}

// A generator that is shut down while it renders gives the job back uncounted.
func TestARenderingThatWasInterruptedIsNotCounted(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.Register(notify.Type{Name: "slow", Renderer: notify.RendererFunc(func(ctx context.Context, _ notify.Job, _ notify.Recipient) (notify.Content, error) {
			return notify.Content{}, ctx.Err()
		})})
		job := visit("7", person("sam"))
		job.Type = "slow"
		h.dispatch(job)
		h.run("notify.scheduler")
		j := only(h, notify.Jobs)
		j.Status = notify.StatusGenerating
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.GenerateAll(t.Context(), work.Item[notify.JobRow]{Row: j, Ctx: ended}); err != nil {
			t.Fatal(err)
		}
		if j.Status != notify.StatusReady || j.RetryCount != 0 {
			t.Errorf("job is %s after %d failures", j.Status, j.RetryCount)
		}
	})
}

// Communication - System architecture, "Partial failure handling": at each point at
// which a transaction can be lost, of producers, passes, gates and callbacks, alone
// or with its process, the next run finishes the work. Nobody is called twice, and
// what nobody was called for waits in doubt, if its call had begun.
func TestEveryPassMayLoseItsCommit(t *testing.T) {
	t.Parallel()
	for i, how := range []crash{{}, {after: true}, {dies: true}, {after: true, dies: true}} {
		t.Run(fmt.Sprintf("after_%v_dies_%v", how.after, how.dies), func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				step := everyNth(h)
				for point := 1 + i*step/4; ; point += step {
					s := newCrashStory(h, how, point)
					s.tell()
					s.check()
					if s.flaky.seen < point {
						t.Logf("%d points", s.flaky.seen)
						break
					}
				}
			})
		})
	}
}

// everyNth is 1 where each of the four ways is tried at every point, 4 where they
// share the points, and 12 where that takes minutes.
func everyNth(h *host) int {
	switch h.store.(type) {
	case *memory.Store:
		return 1
	case *postgres.Store:
		if !testlevel.Has(h.t, testlevel.Nightly) {
			return 12
		}
	}
	return 4
}

// crashStory is a reminder to two people, an inbox, and two who get by mail what they do
// not read in theirs, as eve does; and a campaign for four: one
// who got the reminder, one who is suppressed, one who has opted out, and one more.
// All gates are asked, and the provider calls back.
type crashStory struct {
	*host
	flaky *flaky
	name  string
}

func newCrashStory(h *host, how crash, point int) *crashStory {
	s := &crashStory{host: h, flaky: newFlaky(h.store, point, how), name: fmt.Sprint(point)}
	if err := h.Contacts().Suppress(h.t.Context(), "tenant", channel.Complaint, support, notify.Destination{"email", s.person("kim").Address}); err != nil {
		h.t.Fatal(err)
	}
	if err := h.Contacts().SetPreferences(h.t.Context(), notify.Preference{Scope: "tenant", RecipientRef: s.person("pat").Ref, OptedOut: true}); err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (s *crashStory) person(who string) notify.Recipient { return person(who + "-" + s.name) }

// process is one that works on the flaky store.
func (s *crashStory) process() *host {
	n := notify.New(s.flaky.Spy, &notify.Options{Logger: quiet, Gates: gate.New(s.flaky.Spy, &gate.Options{
		Guard:  &gate.Guard{Allow: []string{"@example.com"}},
		Caps:   []gate.Cap{{Limit: 1, Per: time.Hour}},
		Window: &gate.Window{From: "07:00", To: "21:00"},
		Rates:  []gate.Rate{{Channel: channelKey, Limit: 1, Per: time.Second, Burst: 2}},
	})}, mortal{s.provider, s.flaky})
	n.Register(notify.Type{Name: "visit", Renderer: visitTemplate, EscalateAfter: time.Hour})
	n.SetChunk(2)
	return &host{Notifier: n, store: s.flaky.Spy, t: s.t, clk: s.clk, provider: s.provider}
}

// mortal is a channel whose process may be dead.
type mortal struct {
	*provider
	flaky *flaky
}

func (m mortal) Send(ctx context.Context, msg channel.Message) (channel.Receipt, error) {
	m.flaky.mu.Lock()
	defer m.flaky.mu.Unlock()
	if m.flaky.dead {
		return channel.Receipt{}, errLost
	}
	return m.provider.Send(ctx, msg)
}

// tell has a process do everything again and again, and replaces it once it is
// dead. At last nothing fails.
func (s *crashStory) tell() {
	p := s.process()
	for round := range 15 {
		s.flaky.armed = round < 6
		s.repeated(s.produce(p))
		for _, pass := range p.Passes() {
			_, _ = pass.Runner(work.Options{Logger: quiet, Lease: time.Second}).Poll(s.t.Context(), 100)
		}
		s.repeated(s.readAsRoy(p))
		if round%3 == 2 { // the provider is slow to tell
			s.repeated(s.callBack(p))
		}
		if s.flaky.revive() {
			p = s.process()
		}
		s.clk.Add(2 * time.Hour)
	}
}

// repeated is what is done again after an error, which there is for a reason.
func (s *crashStory) repeated(err error) {
	if err != nil && !s.flaky.armed {
		s.t.Fatal(err)
	}
}

// produce wants the same things each time.
func (s *crashStory) produce(p *host) error {
	ctx := s.t.Context()
	job := visit(s.name, s.person("sam"), s.person("ann"), inbox("sam-"+s.name), both("eve-"+s.name), both("roy-"+s.name))
	if _, err := p.EnsureNotificationJob(ctx, nil, job); err != nil {
		return err
	}
	if _, err := p.EnsureNotificationScheduler(ctx, nil, notify.ScheduleFor(job, time.Time{})); err != nil {
		return err
	}
	payload, err := p.putAudience(s.person("sam"), s.person("kim"), s.person("pat"), s.person("lou"))
	if err != nil {
		return err
	}
	campaign := notify.MessagingJob{Scope: job.Scope, Type: job.Type, GUID: "spring" + s.name, BusinessUnit: "north", Blob: payload.Blob, AudienceSize: payload.Recipients}
	if _, err := p.EnsureMessagingJob(ctx, nil, campaign); err != nil {
		return err
	}
	_, err = p.EnsureNotificationScheduler(ctx, nil, notify.ScheduleForCampaign(campaign, time.Time{}))
	return err
}

// readAsRoy reads what is in the inbox of roy.
func (s *crashStory) readAsRoy(p *host) error {
	roy := p.Inbox("tenant", "user:roy-"+s.name)
	rows, _, err := roy.Messages(s.t.Context(), storage.Page{})
	if err == nil && len(rows) == 1 {
		_, err = roy.Mark(s.t.Context(), notify.MarkRead, rows[0].RowKey)
	}
	return err
}

// callBack tells that all that was sent is delivered.
func (s *crashStory) callBack(p *host) error {
	var events []channel.StatusEvent
	for _, m := range s.sent() {
		if strings.HasSuffix(m.To, "-"+s.name+"@example.com") {
			events = append(events, channel.StatusEvent{Provider: "test", EventID: m.ID, Kind: channel.KindDelivered, MessageID: m.ID})
		}
	}
	_, err := p.Track(s.t.Context(), events...)
	return err
}

// check accounts for everything that the story wanted.
func (s *crashStory) check() {
	s.t.Helper()
	calls, got := map[string]int{}, map[string]int{}
	for _, m := range s.sent() {
		calls[m.ID]++
	}
	for _, m := range all(s.host, notify.Messages) {
		who, story, _ := strings.Cut(m.RecipientRef, "-")
		if story != s.name {
			continue
		}
		got[who]++
		want, held := notify.StatusDelivered, false
		escalated := m.UnlessRead != "" && !s.inboxOf(m.RecipientRef).EscalatedOn.IsZero()
		switch {
		case who == "roy" && !escalated:
			want = notify.StatusSkipped
			calls[m.MessageID] *= 2 // none, or it is one too many
		case who == "kim" || who == "pat":
			want = notify.StatusSkipped
		case calls[m.MessageID] == 0 && s.flaky.crash != crash{}:
			want, held = notify.StatusOutcomeUnknown, true
		}
		if m.Status != want || m.IsOnSupportHold != held || !m.DueOn.IsZero() || calls[m.MessageID] > 1 {
			s.t.Errorf("point %s, %+v: %s is %s (%s) after %d calls, due %v, hold %q", s.name, s.flaky.crash, who, m.Status, m.ReasonCode, calls[m.MessageID], m.DueOn, m.HoldReason)
		}
	}
	s.same("messages of point "+s.name, map[string]int{"sam": 2, "ann": 1, "kim": 1, "pat": 1, "lou": 1, "eve": 1, "roy": 1}, got)
	if j := s.campaign("spring" + s.name); j.Status != notify.StatusGenerated || j.Generated != 4 || j.Repeated != 0 {
		s.t.Errorf("point %s: campaign is %s, %d made, %d twice", s.name, j.Status, j.Generated, j.Repeated)
	}
	inApp, _, err := s.Inbox("tenant", "user:sam-"+s.name).Messages(s.t.Context(), storage.Page{})
	if err != nil || len(inApp) != 1 {
		s.t.Errorf("point %s: in-app messages %v, %v", s.name, inApp, err)
	}
}
