package notify_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// host is an application with one notification type, "visit", and one channel.
type host struct {
	*notify.Notifier
	store storage.Store
	t     testing.TB
	clk   *clock.Mock
	*provider
}

// provider is a channel that notes what it is asked to send. answer, if it is
// set, decides; else everything is accepted.
type provider struct {
	mu     sync.Mutex
	calls  []channel.Message
	answer func(ctx context.Context, m channel.Message) (channel.Receipt, error)
}

const channelKey = "email:test"

func (p *provider) Key() string { return channelKey }

func (p *provider) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	p.mu.Lock()
	p.calls = append(p.calls, m)
	answer := p.answer
	p.mu.Unlock()
	if answer == nil {
		return channel.Receipt{ID: "accepted"}, nil
	}
	return answer(ctx, m)
}

// sent is what the provider was asked to send so far.
func (p *provider) sent() []channel.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]channel.Message(nil), p.calls...)
}

var visitTemplate = notify.Template{Subject: "{{.Source}} on {{.On}}", Text: "Dear {{.Recipient.Name}}"}

// visits runs a test on every adapter with a host that knows the type "visit".
func visits(t *testing.T, test func(t *testing.T, h *host)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		p := &provider{}
		h := newHost(t, store, clk, p, p)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		test(t, h)
	})
}

func newHost(t testing.TB, store storage.Store, clk *clock.Mock, p *provider, channels ...channel.Channel) *host {
	return &host{Notifier: notify.New(store, &notify.Options{Logger: quiet}, channels...), store: store, t: t, clk: clk, provider: p}
}

// rival is another process on the same store, with channels of its own.
func (h *host) rival(channels ...channel.Channel) *host {
	r := newHost(h.t, h.store, h.clk, h.provider, channels...)
	r.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
	return r
}

// visit is a direct reminder to people.
func visit(id string, people ...notify.Recipient) notify.Job {
	return notify.Job{
		Scope: "tenant", Type: "visit",
		PartitionKey: "car-" + id, RowKey: keys.AutomationRowKey("visit:" + id), BusinessUnit: "north",
		EntityType: "car", Entity: id, EventData: json.RawMessage(`{"Source":"` + id + `","On":"2026-05-01"}`),
		Recipients: people, SourceKey: "visit:" + id, SourceOn: storetest.Start,
	}
}

func person(name string) notify.Recipient {
	return notify.Recipient{Ref: name, Channel: channelKey, Address: name + "@Example.com", Name: name, Locale: "en"}
}

// dispatch ensures jobs and their schedules.
func (h *host) dispatch(want ...notify.Job) {
	h.t.Helper()
	var plan []notify.Schedule
	for _, j := range want {
		plan = append(plan, notify.ScheduleFor(j, time.Time{}))
	}
	if _, err := h.EnsureNotificationJob(h.t.Context(), nil, want...); err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.EnsureNotificationScheduler(h.t.Context(), nil, plan...); err != nil {
		h.t.Fatal(err)
	}
}

// drain polls every pass until none finds anything.
func (h *host) drain() {
	h.t.Helper()
	for again := true; again; {
		again = false
		for _, p := range h.Passes() {
			again = h.poll(p) > 0 || again
		}
	}
}

func (h *host) poll(p work.Pass) int {
	h.t.Helper()
	rep, err := p.Runner(work.Options{Logger: quiet}).Poll(h.t.Context(), 500)
	if err != nil {
		h.t.Fatal(err)
	}
	return rep.Claimed
}

// run polls one pass once.
func (h *host) run(name string) int {
	h.t.Helper()
	for _, p := range h.Passes() {
		if p.Name() == name {
			return h.poll(p)
		}
	}
	h.t.Fatalf("no pass %q", name)
	return 0
}

// all reads every row of a table.
func all[R any](h *host, table *driver.Table[R]) []*R {
	h.t.Helper()
	var out []*R
	h.inOne(func(tx storage.Tx) (err error) {
		out, err = table.Everywhere().Find(h.t.Context(), tx, driver.Query{Limit: 200_000})
		return err
	})
	return out
}

// only is the single row of a table.
func only[R any](h *host, table *driver.Table[R]) *R {
	h.t.Helper()
	rows := all(h, table)
	if len(rows) != 1 {
		h.t.Fatalf("%d rows in %s, want one", len(rows), table.Name)
	}
	return rows[0]
}

// edit changes the single row of a table, as another writer would.
func edit[R any](h *host, table *driver.Table[R], change func(*R)) {
	h.t.Helper()
	r := only(h, table)
	change(r)
	h.inOne(func(tx storage.Tx) error { return table.Save(h.t.Context(), tx, r) })
}

func (h *host) inOne(f func(storage.Tx) error) {
	h.t.Helper()
	if err := h.store.InTx(h.t.Context(), f); err != nil {
		h.t.Fatal(err)
	}
}

// claim is a worker that takes the due messages and then dies.
func (h *host) claim(statuses []string, busy string) []*notify.MessageRow {
	h.t.Helper()
	now := driver.Now(h.store)
	var rows []*notify.MessageRow
	h.inOne(func(tx storage.Tx) (err error) {
		rows, err = notify.Messages.Claim(h.t.Context(), tx, driver.Claim{
			Statuses: statuses, Busy: busy, Kinds: []string{channelKey}, Now: now, LeaseUntil: now.Add(lease), Token: "dead",
			Lanes: []driver.LaneClaim{{Lane: storage.LaneUrgent, Limit: 10}, {Lane: storage.LaneNormal, Limit: 10}},
		})
		return err
	})
	return rows
}

const lease = time.Minute

// dieCalling is a worker that claimed a message, recorded that its call starts,
// and was killed; whether the provider got it is the test's to say.
func (h *host) dieCalling() *notify.MessageRow {
	h.t.Helper()
	rows := h.claim([]string{notify.StatusCreated, notify.StatusRetryReady}, notify.StatusSending)
	if len(rows) != 1 {
		h.t.Fatalf("claimed %d messages, want one", len(rows))
	}
	now := driver.Now(h.store)
	rows[0].Calling(now)
	ours, err := work.Start(h.t.Context(), h.store, notify.Messages, now.Add(lease), rows)
	if err != nil || !ours[0] {
		h.t.Fatal(ours, err)
	}
	return rows[0]
}

func (h *host) status(want string) *notify.MessageRow {
	h.t.Helper()
	m := only(h, notify.Messages)
	if m.Status != want {
		h.t.Fatalf("message is %s (%s), want %s", m.Status, m.ReasonCode, want)
	}
	return m
}

func (h *host) same(what string, want, got any, opts ...cmp.Option) {
	h.t.Helper()
	opts = append(opts, cmp.AllowUnexported(notify.JobRow{}))
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		h.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// visitsInMemory is for stories in which the adapter plays no part.
func visitsInMemory(t *testing.T, test func(h *host)) {
	t.Helper()
	t.Parallel()
	test(hostInMemory(t))
}

func hostInMemory(t *testing.T) *host {
	t.Helper()
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	p := &provider{}
	h := newHost(t, memory.New(&memory.Options{Clock: clk}), clk, p, p)
	h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
	return h
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// rows counts those of a table by its name.
func (h *host) rows(table string) (n int) {
	h.t.Helper()
	for _, s := range slices.Concat(notify.Schemas(), gate.Schemas()) {
		if s.Name != table {
			continue
		}
		h.inOne(func(tx storage.Tx) (err error) {
			n, err = tx.Count(h.t.Context(), s, driver.Everywhere(), nil, 10_000)
			return err
		})
		return n
	}
	h.t.Fatalf("no table %s", table)
	return 0
}

func TestMain(m *testing.M) { pgtest.Main(m) }
