package notify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Outage says that a channel takes nothing: calls of it were refused for a reason that
// is the channel's own ([FaultChannel]), such as a revoked key. No process sends
// through it then but a probe from time to time, which is one message, until one gets
// through. Messages wait, and no try of theirs is counted.
type Outage struct {
	// Scope is the tenant whose channel it is, where a [ChannelSource] gave it one.
	Scope Scope
	// Everywhere says that it is the channel that all scopes share.
	Everywhere bool
	Channel    string // its key
	// Class and Code are those of the last refusal.
	Class SendClass
	Code  string
	Since time.Time // UTC, when the first call began that was refused
	// Probes counts the probes so far; the next one is not before ProbeOn.
	Probes  int
	ProbeOn time.Time // UTC
}

// The statuses of an outageRow.
const (
	statusOut  = "Out"
	statusOver = "Over"
)

// outageRow has the columns of an [Outage]. It stays when the outage is over, so that
// its versions, which the audit names, go on. It is never due; ProbeOn is the lease
// of who probes, and the pause between two probes.
type outageRow struct {
	storage.Record
	Everywhere bool      `db:"everywhere,fixed"`
	Class      SendClass `db:"class,plain"`
	Code       string    `db:"code,plain"`
	Since      time.Time `db:"since"`
	Probes     int       `db:"probes"`
	ProbeOn    time.Time `db:"probe_on"`
}

// outages has one row for each channel that ever had an outage.
var outages = driver.Define[outageRow]("channel_outage").Grows(driver.Bounded).Limit(4 << 10)

func (r *outageRow) view() Outage {
	return Outage{
		Scope: r.Scope, Everywhere: r.Everywhere, Channel: r.Kind, Class: r.Class, Code: r.Code,
		Since: r.Since, Probes: r.Probes, ProbeOn: r.ProbeOn,
	}
}

func (r *outageRow) at() line { return line{r.Scope, r.Everywhere, r.Kind} }

// Outages lists the outages of channels that a scope sends through, those of shared
// channels first.
func (n Support) Outages(ctx context.Context, scope Scope) (out []Outage, err error) {
	err = n.inTx(ctx, nil, func(tx storage.Tx) error {
		out = nil
		for _, of := range []struct {
			scope      Scope
			everywhere bool
		}{{"", true}, {scope, false}} {
			rows, err := outages.Find(ctx, tx, of.scope, driver.Query{
				Where: []driver.Cond{driver.Eq("status", statusOut), driver.Eq("everywhere", of.everywhere)}, Limit: maxPage,
			})
			if err != nil {
				return err
			}
			for _, r := range rows {
				out = append(out, r.view())
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("notify: Outages: %w", err)
	}
	return out, nil
}

// line is a channel as its credentials are: that of a scope, or that of all scopes.
type line struct {
	scope      Scope
	everywhere bool
	channel    string
}

// row names the line in the table of outages.
func (l line) row() outageRow {
	key := "channel:" + l.channel
	if l.everywhere {
		key = "everywhere:" + key
	}
	return outageRow{Record: storage.Record{Scope: l.scope, Key: key, Kind: l.channel}, Everywhere: l.everywhere}
}

// outageAge is how old the reading of the outages may be: so long others go on to call
// a channel of which one process knows that it is out.
const outageAge = time.Second

// watch is what a process knows of outages. It keeps no lock while it asks the store,
// which may be busy with a transaction that asks here.
type watch struct {
	store   storage.Store
	log     *slog.Logger
	timeout time.Duration // of a call, and so of a probe

	mu      sync.Mutex
	out     map[line]*outageRow // never changed, only replaced
	readOn  time.Time
	changes int // of out, by this process
	// through has when the last call began that a channel answered, beginning the
	// outages that this process is about to note.
	through   map[line]time.Time
	beginning map[line]bool
	ways      map[line]chain // by scope and the key that messages ask for, as last chosen
	paused    []Extent       // as of the last claim
}

func newWatch(store storage.Store, log *slog.Logger, timeout time.Duration) *watch {
	return &watch{store: store, log: log, timeout: timeout, through: map[line]time.Time{}, beginning: map[line]bool{}, ways: map[line]chain{}}
}

// current are the outages in force, from a reading that is no older than outageAge; tx
// may be nil.
func (w *watch) current(ctx context.Context, tx storage.Tx) (map[line]*outageRow, error) {
	now := driver.Now(w.store)
	w.mu.Lock()
	out, age, changes := w.out, now.Sub(w.readOn), w.changes
	fresh := !w.readOn.IsZero() && age >= 0 && age < outageAge
	w.mu.Unlock()
	if fresh {
		return out, nil
	}
	read := func(tx storage.Tx) (err error) {
		out, err = outagesNow(ctx, tx)
		return err
	}
	var err error
	if tx != nil {
		err = read(tx)
	} else {
		err = w.store.InTx(ctx, read)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.changes == changes {
		w.out, w.readOn = out, now
	}
	return w.out, err
}

func outagesNow(ctx context.Context, tx storage.Tx) (map[line]*outageRow, error) {
	out := map[line]*outageRow{}
	var after *driver.Position
	for {
		rows, err := outages.Everywhere().Find(ctx, tx, driver.Query{Where: []driver.Cond{driver.Eq("status", statusOut)}, Limit: maxPage, After: after})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[r.at()] = r
		}
		if len(rows) < maxPage {
			return out, nil
		}
		after = &driver.Position{ID: rows[len(rows)-1].ID}
	}
}

// heard takes in what came of a call that began then, and reports whether the message
// is spared: its channel is out, which another message has shown before it.
func (w *watch) heard(ctx context.Context, at line, began time.Time, e *SendError, probe bool) (spared bool) {
	switch {
	case e != nil && e.Fault == FaultChannel:
		return w.refused(ctx, at, began, e, probe)
	case e == nil, e.Class == ClassPermanent, e.Fault != "":
		w.answered(ctx, at, began)
	case probe: // nobody knows
		w.change(ctx, at, func(r *outageRow, now time.Time) (bool, string) {
			r.probeLater(now, 0)
			return r.Status == statusOut, ""
		})
	}
	return false
}

// answered ends an outage that is no younger than the call.
func (w *watch) answered(ctx context.Context, at line, began time.Time) {
	w.mu.Lock()
	if began.After(w.through[at]) {
		w.through[at] = began
	}
	known := w.out[at]
	w.mu.Unlock()
	if known == nil || began.Before(known.Since) {
		return
	}
	w.change(ctx, at, func(r *outageRow, _ time.Time) (bool, string) {
		if r.Status != statusOut || began.Before(r.Since) {
			return false, ""
		}
		r.Status, r.ProbeOn = statusOver, time.Time{}
		return true, "Recover"
	})
}

// refused begins an outage, unless a call that began no earlier got through: then it is
// this message that the channel does not take. The message that begins one counts the
// try, so that none begins one again and again.
func (w *watch) refused(ctx context.Context, at line, began time.Time, e *SendError, probe bool) (spared bool) {
	w.mu.Lock()
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
	begun := false
	w.change(ctx, at, func(r *outageRow, now time.Time) (bool, string) {
		begun = r.Status != statusOut
		if begun {
			r.Status, r.Since, r.Probes = statusOut, began, 0
		}
		r.Class, r.Code = e.Class, storable.Code(e.Code)
		r.probeLater(now, e.RetryAfter)
		if begun {
			return true, "Outage"
		}
		return true, ""
	})
	w.mu.Lock()
	delete(w.beginning, at)
	w.mu.Unlock()
	return !begun
}

// probe takes the probe of a channel that is out, if it is time for one and nobody else
// has it.
func (w *watch) probe(ctx context.Context, at line) (taken bool) {
	w.change(ctx, at, func(r *outageRow, now time.Time) (bool, string) {
		taken = r.Status == statusOut && !now.Before(r.ProbeOn)
		if taken {
			r.Probes++
			r.ProbeOn = driver.Time(now.Add(w.timeout + probeAfter(r.Probes)))
		}
		return taken, ""
	})
	return taken
}

// maxProbeAfter bounds how long a provider may have its channel wait for a probe.
const maxProbeAfter = time.Hour

// probeLater says when to probe next, not before the provider asks for it.
func (r *outageRow) probeLater(now time.Time, asked time.Duration) {
	r.ProbeOn = driver.Time(now.Add(max(probeAfter(r.Probes), min(asked, maxProbeAfter))))
}

// probeAfter is the pause after so many probes: from a second to a minute.
func probeAfter(probes int) time.Duration {
	return min(time.Second<<min(probes, 6), time.Minute)
}

// change lets f change the row of a channel, in a transaction of its own, and says what
// that is in the audit and the log. f says whether it did, and what; it may be called
// again. A store that is away is told of by the next call.
func (w *watch) change(ctx context.Context, at line, f func(r *outageRow, now time.Time) (changed bool, action string)) {
	var row *outageRow
	var action string
	err := driver.Again("the outage of "+at.channel, func() error {
		return w.store.InTx(ctx, func(tx storage.Tx) (err error) {
			row, action, err = w.changeIn(ctx, tx, at, f)
			return err
		})
	})
	if err != nil {
		w.log.WarnContext(ctx, "belfry: the outage of a channel could not be noted", slog.String("channel", at.channel), slog.Any("error", err))
		return
	}
	w.keep(at, row)
	switch where := []slog.Attr{slog.String("channel", at.channel), slog.String("scope", string(at.scope)), slog.String("code", row.Code)}; action {
	case "Outage":
		w.log.LogAttrs(ctx, slog.LevelError, "belfry: a channel is out, and is only probed", where...)
	case "Recover":
		w.log.LogAttrs(ctx, slog.LevelInfo, "belfry: a channel is back", where...)
	}
}

func (w *watch) changeIn(ctx context.Context, tx storage.Tx, at line, f func(*outageRow, time.Time) (bool, string)) (*outageRow, string, error) {
	want := at.row()
	want.Status = statusOver
	if _, err := outages.Insert(ctx, tx, &want); err != nil {
		return nil, "", err
	}
	r, err := outages.Get(ctx, tx, want.Scope, want.Key)
	if err != nil {
		return nil, "", err
	}
	now, from := driver.Now(w.store), r.Status
	changed, action := f(r, now)
	if !changed {
		return r, "", nil
	}
	if err := outages.Save(ctx, tx, r); err != nil || action == "" {
		return r, "", err
	}
	return r, action, audit.Write(ctx, tx, &audit.Entry{
		Record: storage.Record{Scope: r.Scope}, Subject: outages.Name, SubjectKey: r.Key, SubjectID: r.ID, SubjectVersion: r.Version,
		Action: action, Actor: "send pass", Reason: cmp.Or(r.Code, string(r.Class)), From: from, To: r.Status, On: now,
	})
}

// keep notes what this process has just read or written of a channel.
func (w *watch) keep(at line, r *outageRow) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := maps.Clone(w.out)
	if out == nil {
		out = map[line]*outageRow{}
	}
	delete(out, at)
	if r.Status == statusOut {
		out[at] = r
	}
	w.out = out
	w.changes++
}

// known is the outage of a channel as far as this process knows.
func (w *watch) known(at line) *outageRow {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out[at]
}

// isOut reports whether no message may go through before a moment to come.
func (r *outageRow) isOut(now time.Time) bool { return r != nil && now.Before(r.ProbeOn) }

// pauseAge is how long a message is put off that stays with a channel which is paused.
const pauseAge = time.Minute

// closed says when a way may open that is out or paused; zero: it is open, if only for
// a probe.
func (w *watch) closed(of *way, scope Scope, now time.Time) (until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.paused {
		if e.Channel == of.name && (e.Everywhere || e.Scope == scope) {
			until = now.Add(pauseAge)
		}
	}
	if r := w.out[of.at]; r.isOut(now) {
		until = later(r.ProbeOn, until)
	}
	return until
}

// pausedNow keeps what a claim has read.
func (w *watch) pausedNow(all []Extent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = all
}

// learn keeps what a scope sends by, so that claims leave its messages alone while all
// of that is out.
func (w *watch) learn(asked line, ways chain) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ways[asked] = ways
}

func (w *watch) waysOf(asked line) chain {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ways[asked]
}
