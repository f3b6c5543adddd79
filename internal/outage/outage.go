// Package outage is the circuit breaker of channels: one row for each channel, shared by
// all processes and domains that send through it. While the breaker is open one probe at
// a time checks whether the channel works again. The domain decides what is sent and what
// happens to the message.
package outage

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// The statuses of a Row.
const (
	StatusOut  = "Out"
	StatusOver = "Over"
)

// Row is the breaker of a channel that has had an outage. It stays when the outage is
// over, so that its versions, which the audit names, continue. It is never due. ProbeOn
// is the lease of the probing process, and the pause between two probes.
type Row struct {
	storage.Record
	Everywhere bool      `db:"everywhere,fixed"`
	Class      string    `db:"class,plain"` // of the last refusal, as Code
	Code       string    `db:"code,plain"`
	Since      time.Time `db:"since"`  // when the first call began that was refused
	Probes     int       `db:"probes"` // so far
	ProbeOn    time.Time `db:"probe_on"`
}

// Table has one row for each channel that ever had an outage.
var Table = driver.Define[Row]("channel_outage").Grows(driver.Bounded).
	Kept(driver.Always, "one for each channel that was ever out").Limit(4 << 10)

func (r *Row) at() Line { return Line{r.Scope, r.Everywhere, r.Kind} }

// Line is a channel as its credentials are: that of a scope, or that of all scopes.
type Line struct {
	Scope      storage.Scope
	Everywhere bool
	Channel    string
}

// row names the line in the table.
func (l Line) row() Row {
	key := "channel:" + l.Channel
	if l.Everywhere {
		key = "everywhere:" + key
	}
	return Row{Record: storage.Record{Scope: l.Scope, Key: key, Kind: l.Channel}, Everywhere: l.Everywhere}
}

// Age is how old the reading of the outages may be: so long others go on to call
// a channel of which one process knows that it is out.
const Age = time.Second

// Watch is what a service of a process knows of outages. It keeps no lock while it asks the store,
// which may be busy with a transaction that asks here. Its methods may be called from any
// number of goroutines.
type Watch struct {
	store   storage.Store
	log     *slog.Logger
	timeout time.Duration

	mu      sync.Mutex
	out     map[Line]*Row // never changed, only replaced
	readOn  time.Time
	changes int // of out, by this process
	// through has when the last call began that a channel answered, beginning the
	// outages that this process is about to note.
	through   map[Line]time.Time
	beginning map[Line]bool
	silent    map[Line]silence         // calls in a row that a channel has not answered
	against   map[Line]map[string]bool // domains in a row that a policy of a channel is against
}

// silence is calls about so many messages without an answer, of which the first began then.
type silence struct {
	calls int
	since time.Time
}

// New makes a Watch. A call, and so a probe, takes no longer than timeout.
func New(store storage.Store, log *slog.Logger, timeout time.Duration) *Watch {
	return &Watch{store: store, log: log, timeout: timeout, through: map[Line]time.Time{}, beginning: map[Line]bool{}, silent: map[Line]silence{}, against: map[Line]map[string]bool{}}
}

// Current are the outages in force, from a reading that is no older than Age; from
// may be nil.
func (w *Watch) Current(ctx context.Context, from driver.Reader) (map[Line]*Row, error) {
	now := driver.Now(w.store)
	w.mu.Lock()
	out, age, changes := w.out, now.Sub(w.readOn), w.changes
	fresh := !w.readOn.IsZero() && age >= 0 && age < Age
	w.mu.Unlock()
	if fresh {
		return out, nil
	}
	read := func(from driver.Reader) (err error) {
		out, err = allNow(ctx, from)
		return err
	}
	var err error
	if from != nil {
		err = read(from)
	} else {
		err = w.store.View(ctx, read)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.changes == changes {
		for at := range w.out {
			if out[at] == nil { // another process has ended it
				w.forget(at)
			}
		}
		w.out, w.readOn = out, now
	}
	return w.out, err
}

// forget has what a channel has not answered, or refused, count no more.
func (w *Watch) forget(at Line) {
	delete(w.silent, at)
	delete(w.against, at)
}

// page is how many rows are read in one statement.
const page = 1000

// First reads a page of the outages that are in force, in all scopes.
func First(ctx context.Context, from driver.Reader) ([]*Row, error) { return behind(ctx, from, nil) }

func behind(ctx context.Context, from driver.Reader, after *driver.Position) ([]*Row, error) {
	return Table.Everywhere().Find(ctx, from, driver.Query{Where: []driver.Cond{driver.Eq("status", StatusOut)}, Limit: page, After: after})
}

func allNow(ctx context.Context, from driver.Reader) (map[Line]*Row, error) {
	out := map[Line]*Row{}
	var after *driver.Position
	for {
		rows, err := behind(ctx, from, after)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[r.at()] = r
		}
		if len(rows) < page {
			return out, nil
		}
		after = &driver.Position{ID: rows[len(rows)-1].ID}
	}
}

// Answer is what a channel said to a call, as an error of package notify tells it. The
// zero value is that it took the message.
type Answer struct {
	Class, Code string
	RetryAfter  time.Duration
	Named       bool // it says whose fault it is
	Out         bool // it is the account's or the provider's
	Policy      bool // it is a policy's, against the account perhaps
	// Domain is that of the recipient, where Policy says that it matters.
	Domain string
	// Messages is how many the call was about; zero is one.
	Messages int
}

// What notify calls them.
const (
	classPermanent = "Permanent"
	classUnknown   = "Unknown"
)

// Heard takes in what came of a call that began then, and reports whether the message
// is spared: its channel is out, which another message has shown before it.
func (w *Watch) Heard(ctx context.Context, at Line, began time.Time, a Answer, probe bool) (spared bool) {
	if a.Class != classUnknown {
		w.spoke(at)
	}
	switch {
	case a.Out, a.Policy && w.barred(at, a.Domain):
		return w.refused(ctx, at, began, a, probe)
	case a.Policy && !probe: // of that domain alone, perhaps
	case a == Answer{}, !a.Policy && (a.Class == classPermanent || a.Named):
		w.answered(ctx, at, began)
	case probe: // the outcome is unknown
		w.change(ctx, at, func(r *Row, now time.Time) (bool, string) {
			r.Class, r.Code = a.Class, storable.Code(a.Code)
			r.probeLater(now, 0)
			return r.Status == StatusOut, ""
		})
	case a.Class == classUnknown:
		w.unanswered(ctx, at, began, a)
	}
	return false
}

// spoke notes that a channel has answered, whatever it said.
func (w *Watch) spoke(at Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.silent, at)
}

// maxDomains is how many domains of recipients in a row a policy may be against, until it
// is the account that is refused.
const maxDomains = 3

// barred notes that a policy is against a domain, and reports whether it is against the
// account.
func (w *Watch) barred(at Line, domain string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.against[at] == nil {
		w.against[at] = map[string]bool{}
	}
	if len(w.against[at]) < maxDomains {
		w.against[at][domain] = true
	}
	return len(w.against[at]) >= maxDomains
}

// maxSilence is how many messages in a row have no answer before their channel is out: each
// of them is in doubt.
const maxSilence = 20

// fewCalls is how many calls a channel makes at a time that has not answered the last one.
const fewCalls = 4

// Silent reports whether a channel has not answered the last call.
func (w *Watch) Silent(at Line) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.silent[at].calls > 0
}

// Limit says how many calls a channel may have at a time, now.
func (w *Watch) Limit(at Line) func() int {
	return func() int {
		if w.Silent(at) {
			return fewCalls
		}
		return math.MaxInt
	}
}

func (w *Watch) unanswered(ctx context.Context, at Line, began time.Time, a Answer) {
	w.mu.Lock()
	s := w.silent[at]
	if s.calls == 0 {
		s.since = began
	}
	s.calls += max(a.Messages, 1)
	w.silent[at] = s
	begins := s.calls >= maxSilence && w.out[at] == nil && !w.beginning[at]
	if begins {
		w.beginning[at] = true
	}
	w.mu.Unlock()
	if begins {
		w.begin(ctx, at, s.since, a)
	}
}

// answered ends an outage that is no younger than the call.
func (w *Watch) answered(ctx context.Context, at Line, began time.Time) {
	w.mu.Lock()
	if began.After(w.through[at]) {
		w.through[at] = began
	}
	w.forget(at)
	known := w.out[at]
	w.mu.Unlock()
	if known == nil || began.Before(known.Since) {
		return
	}
	w.change(ctx, at, func(r *Row, _ time.Time) (bool, string) {
		if r.Status != StatusOut || began.Before(r.Since) {
			return false, ""
		}
		r.Status, r.ProbeOn = StatusOver, time.Time{}
		return true, "Recover"
	})
}

// refused begins an outage, unless a call that began no earlier got through: then it is
// this message that the channel does not take. The message that begins one counts the
// try, so that none begins one again and again.
func (w *Watch) refused(ctx context.Context, at Line, began time.Time, a Answer, probe bool) (spared bool) {
	w.mu.Lock()
	delete(w.silent, at)
	known, begins := w.out[at] != nil, w.beginning[at]
	switch {
	case !known && !w.through[at].IsZero() && !w.through[at].Before(began):
		w.mu.Unlock()
		return false
	case known && !probe, begins:
		w.mu.Unlock()
		return true
	}
	w.beginning[at] = true
	w.mu.Unlock()
	return !w.begin(ctx, at, began, a)
}

// begin begins an outage, or goes on with one.
func (w *Watch) begin(ctx context.Context, at Line, began time.Time, a Answer) (begun bool) {
	w.change(ctx, at, func(r *Row, now time.Time) (bool, string) {
		begun = r.Status != StatusOut
		if begun {
			r.Status, r.Since, r.Probes = StatusOut, began, 0
		}
		r.Class, r.Code = a.Class, storable.Code(a.Code)
		r.probeLater(now, a.RetryAfter)
		if begun {
			return true, "Outage"
		}
		return true, ""
	})
	w.mu.Lock()
	delete(w.beginning, at)
	w.mu.Unlock()
	return begun
}

// Probe takes the probe of a stopped channel, if it is time for one and no other process
// has it.
func (w *Watch) Probe(ctx context.Context, at Line) (taken bool) {
	w.change(ctx, at, func(r *Row, now time.Time) (bool, string) {
		taken = r.Status == StatusOut && !now.Before(r.ProbeOn)
		if taken {
			r.Probes++
			r.ProbeOn = driver.Time(now.Add(w.timeout + r.pause()))
		}
		return taken, ""
	})
	return taken
}

// maxProbeAfter bounds how long a provider may have its channel wait for a probe.
const maxProbeAfter = 24 * time.Hour

// probeLater says when to probe next, not before the provider asks for it.
func (r *Row) probeLater(now time.Time, asked time.Duration) {
	r.ProbeOn = driver.Time(now.Add(max(r.pause(), min(asked, maxProbeAfter))))
}

// pause is how long to wait after so many probes: from a second to a minute, and to a
// quarter of an hour where a probe without an answer leaves a message in doubt.
func (r *Row) pause() time.Duration {
	most := time.Minute
	if r.Class == classUnknown {
		most = 15 * time.Minute
	}
	return min(time.Second<<min(r.Probes, 10), most)
}

// change lets f change the row of a channel, in a transaction of its own, and says what
// that is in the audit and the log. f says whether it did, and what; it may be called
// again. A store that is away is told of by the next call.
func (w *Watch) change(ctx context.Context, at Line, f func(r *Row, now time.Time) (changed bool, action string)) {
	var row *Row
	var action string
	err := driver.RetryStale("the outage of "+at.Channel, func() error {
		return w.store.InTx(ctx, func(tx storage.Tx) (err error) {
			row, action, err = w.changeIn(ctx, tx, at, f)
			return err
		})
	})
	if err != nil {
		w.log.WarnContext(loglimit.Always(ctx), "belfry: the outage of a channel could not be stored", slog.String("channel", at.Channel), slog.Any("error", err))
		return
	}
	w.keep(at, row)
	switch where := []slog.Attr{slog.String("channel", at.Channel), slog.String("scope", string(at.Scope)), slog.String("code", row.Code)}; action {
	case "Outage":
		w.log.LogAttrs(loglimit.Always(ctx), slog.LevelError, "belfry: a channel has stopped; Belfry only probes it until it works again", where...)
	case "Recover":
		w.log.LogAttrs(ctx, slog.LevelInfo, "belfry: a channel works again", where...)
	}
}

func (w *Watch) changeIn(ctx context.Context, tx storage.Tx, at Line, f func(*Row, time.Time) (bool, string)) (*Row, string, error) {
	want := at.row()
	want.Status = StatusOver
	if _, err := Table.Insert(ctx, tx, &want); err != nil {
		return nil, "", err
	}
	r, err := Table.Get(ctx, tx, want.Scope, want.Key)
	if err != nil {
		return nil, "", err
	}
	now, from := driver.Now(w.store), r.Status
	changed, action := f(r, now)
	if !changed {
		return r, "", nil
	}
	if err := Table.Save(ctx, tx, r); err != nil || action == "" {
		return r, "", err
	}
	return r, action, audit.Write(ctx, tx, &audit.Entry{
		Record: storage.Record{Scope: r.Scope}, Subject: Table.Name, SubjectKey: r.Key, SubjectID: r.ID, SubjectVersion: r.Version,
		Action: action, ByProgram: true, Actor: "send pass", Reason: cmp.Or(r.Code, r.Class), From: from, To: r.Status, On: now,
	})
}

// keep notes what this process has just read or written of a channel.
func (w *Watch) keep(at Line, r *Row) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := maps.Clone(w.out)
	if out == nil {
		out = map[Line]*Row{}
	}
	if out[at] = r; r.Status != StatusOut {
		delete(out, at)
		w.forget(at)
	}
	w.out = out
	w.changes++
}

// Known is the outage of a channel as far as this process knows.
func (w *Watch) Known(at Line) *Row {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out[at]
}

// IsOut reports whether no message may go through before a moment to come.
func (r *Row) IsOut(now time.Time) bool { return r != nil && now.Before(r.ProbeOn) }
