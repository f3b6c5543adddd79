package notify

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Digest has the jobs of a type wait for one another: each recipient gets one message
// for all of a window, when it ends. The zero value is none. Campaigns, and messages that
// hosts ensure themselves, take no part.
type Digest struct {
	// Window is how long jobs are collected, a minute to 31 days, and whole days with At.
	Window time.Duration
	// At is the local time at which windows end where the recipient is: "08:00". Those of
	// several days are counted from a Monday, so that a week ends on one. Empty: windows
	// end at multiples of Window, counted from a Monday in UTC.
	At string
	// Zone is that of recipients whose zone is not known; default "UTC".
	Zone string
	// Throttle has the first job of a window go at once. Those that follow wait for its
	// end, which begins the next window.
	Throttle bool
}

// windows is a [Digest] at work.
type windows struct {
	every    time.Duration
	days     int // of a window, if it ends at a time of day
	at       civil.TimeOfDay
	zone     *time.Location
	throttle bool
}

// compile is nil for the zero value.
func (d Digest) compile() (w *windows, err error) {
	if d == (Digest{}) {
		return nil, nil
	}
	w = &windows{every: d.Window, throttle: d.Throttle}
	if d.Window < time.Minute || d.Window > 31*24*time.Hour {
		return nil, fmt.Errorf("the Window %v is not between a minute and 31 days", d.Window)
	}
	if w.zone, err = civil.LoadZone(cmp.Or(d.Zone, "UTC")); err != nil || d.At == "" {
		return w, err
	}
	if w.days = int(d.Window / (24 * time.Hour)); time.Duration(w.days)*24*time.Hour != d.Window {
		return nil, fmt.Errorf("the Window %v has an At, and is not whole days", d.Window)
	}
	w.at, err = civil.ParseTimeOfDay(d.At)
	return w, err
}

// digest is the [Digest] of t as it is used. What is to go at once waits for no others.
func (t Type) digest() (*windows, error) {
	w, err := t.Digest.compile()
	switch {
	case w == nil || err != nil:
		return nil, err
	case t.Urgent:
		return nil, errors.New("the type is Urgent, which waits for no window")
	case t.Requested:
		return nil, errors.New("the type is Requested: a person waits for the message")
	}
	return w, nil
}

// in is the zone of a recipient. One that is not known here is none.
func (w *windows) in(zone string) *time.Location {
	if loc, err := civil.LoadZone(zone); zone != "" && err == nil {
		return loc
	}
	return w.zone
}

// first is the moment of the first digest that may take what comes now.
func (w *windows) first(now time.Time, zone string) (time.Time, error) {
	if w.throttle {
		return w.around(now, zone, false)
	}
	return w.after(now, zone)
}

// after is the first end of a window behind a moment.
func (w *windows) after(t time.Time, zone string) (time.Time, error) { return w.around(t, zone, true) }

// around is the end of a window next to t: the first behind it, or the last until it.
func (w *windows) around(t time.Time, zone string, behind bool) (time.Time, error) {
	if w.days == 0 {
		end := t.UTC().Truncate(w.every) // since a Monday
		if behind {
			end = end.Add(w.every)
		}
		return driver.Time(end), nil
	}
	loc := w.in(zone)
	day := civil.DateOf(t, loc)
	day = day.AddDays(-(monday.DaysUntil(day) % w.days) - w.days)
	var last time.Time
	for range 4 {
		end, _, err := civil.Resolve(day, w.at, loc, civil.Policy{})
		switch {
		case err != nil:
			return time.Time{}, err
		case end.After(t) && behind:
			return driver.Time(end), nil
		case end.After(t):
			return last, nil
		}
		last, day = driver.Time(end), day.AddDays(w.days)
	}
	return time.Time{}, fmt.Errorf("no window of %d days ends around %v in zone %v", w.days, t, loc)
}

// monday is the day that windows of several days are counted from.
var monday = civil.Date{Year: 1, Month: time.January, Day: 1}

// isDigest reports whether the job is a digest: one that tells what others are about.
func (j *jobRow) isDigest() bool { return !j.DigestOn.IsZero() }

// takesEntries reports whether no worker has begun with the digest. Who adds to it
// raises its version in the same transaction, so that a claim which comes between makes
// the one of them fail that comes later.
func (j *jobRow) takesEntries() bool {
	return j.Status == StatusReady && j.Frozen.isZero() && !j.IsTombstone()
}

// digestAt are the coordinates of the digest that takes an entry at a moment.
func (e *digestEntry) digestAt(on time.Time) Coordinates {
	sum := keys.Sum("belfry-digest-1", e.Kind, e.BusinessUnit, e.RecipientRef, e.RecipientHash, e.Recipient.Inbox)
	return Coordinates{digestPartition(e.Kind), "digest:" + on.UTC().Format(time.RFC3339) + ":" + hex.EncodeToString(sum[:])}
}

func digestPartition(kind string) string { return "digest:" + kind }

// newDigest is the job of the digest that the entry is the first of.
func (e *digestEntry) newDigest(on, now time.Time) (*jobRow, error) {
	at := e.digestAt(on)
	key, err := keys.Join(at.PartitionKey, at.RowKey)
	if err != nil {
		return nil, err
	}
	to := e.Recipient
	to.Data = nil // that of one job
	sum := keys.Sum("belfry-digest-1", key)
	j := &jobRow{
		PartitionKey: at.PartitionKey, RowKey: at.RowKey, BusinessUnit: e.BusinessUnit, Recipients: []Recipient{to},
		EventData: []byte("null"), InputHash: hex.EncodeToString(sum[:]), SourceOn: on, DigestOn: on, CreatedOn: now,
	}
	j.Record, j.Lane = fresh(e.Record, key, StatusReady), e.Lane
	j.DueOn = later(on, now)
	return j, nil
}

// maxEntries is how many jobs a digest has one by one, and maxCounted how far the others
// are counted.
const (
	maxEntries = 100
	maxCounted = 10000
)

// gathered is what a digest has to tell.
type gathered struct {
	told []Job // the first to come, by their time, each with the recipient whose entry it is
	more int   // jobs beside them
	last int64 // id of the last entry that was looked at
	left []leftOut
}

// leftOut is an entry that is not told, and why.
type leftOut struct {
	Entry  string `json:"entry"`
	Reason string `json:"reason"`
}

// gather asks about the jobs of a digest until it has as many as it may tell.
func (n generator) gather(ctx context.Context, j *jobRow) (g gathered, err error) {
	t, looked := n.registry.lookup(j.Kind), 0
	for whole := true; whole && len(g.told) < maxEntries; {
		page, of, err := n.entriesBehind(ctx, j, g.last)
		if err != nil {
			return g, err
		}
		whole = len(page) == maxEntries
		for len(page) > 0 && len(g.told) < maxEntries {
			some := page[:min(len(page), maxEntries-len(g.told))]
			if err := n.sift(ctx, t, some, of, &g); err != nil {
				return g, err
			}
			page, looked, g.last = page[len(some):], looked+len(some), some[len(some)-1].ID
		}
	}
	slices.SortStableFunc(g.told, func(a, b Job) int { return a.SourceOn.Compare(b.SourceOn) })
	if len(g.told) < maxEntries {
		return g, nil
	}
	err = n.store.View(ctx, func(from driver.Reader) error {
		all, err := digestEntries.Count(ctx, from, j.Scope, maxCounted, driver.Eq("digest", j.RowKey))
		g.more = max(all-looked, 0)
		return err
	})
	return g, err
}

// entriesBehind is a page of a digest's entries, the oldest first, with their jobs.
func (n generator) entriesBehind(ctx context.Context, j *jobRow, after int64) (page []*digestEntry, of map[driver.ScopedKey]*jobRow, err error) {
	err = n.store.View(ctx, func(from driver.Reader) (err error) {
		page, err = digestEntries.Find(ctx, from, j.Scope, driver.Query{
			Where: []driver.Cond{driver.Eq("digest", j.RowKey)}, Limit: maxEntries, After: &driver.Position{ID: after},
		})
		if err == nil {
			of, err = jobs.GetMany(ctx, from, sourcesOf(page))
		}
		return err
	})
	return page, of, err
}

// sift keeps the entries whose job is to be told still.
func (n generator) sift(ctx context.Context, t Type, entries []*digestEntry, of map[driver.ScopedKey]*jobRow, g *gathered) error {
	now := driver.Now(n.store)
	var asked []Job
	var about []*digestEntry
	for _, e := range entries {
		j := of[e.source()]
		if why := j.untold(now, t); why != "" {
			g.left = append(g.left, leftOut{e.Key, why})
			continue
		}
		view := j.view()
		view.Recipients, view.ValidUntil = []Recipient{e.Recipient}, j.until(t)
		asked, about = append(asked, view), append(about, e)
	}
	if t.Revalidator == nil || len(asked) == 0 {
		g.told = append(g.told, asked...)
		return nil
	}
	verdicts, err := n.sender().ask(ctx, t, asked)
	if err != nil {
		return channel.Transient(reasons.RevalidationFailed, 0, err)
	}
	for i, v := range verdicts {
		switch v.Action {
		case gate.ActionSkip:
			g.left = append(g.left, leftOut{about[i].Key, v.Reason})
		case gate.ActionProceed, gate.ActionDefer: // the others do not wait for it
			g.told = append(g.told, asked[i])
		default:
			return channel.Transient(reasons.RevalidationFailed, 0, fmt.Errorf("notify: the verdict %v means nothing", v.Action))
		}
	}
	return nil
}

// untold is why a job is not told by a digest, whatever its revalidator says.
func (j *jobRow) untold(now time.Time, t Type) string {
	switch {
	case j == nil || j.IsTombstone():
		return reasons.ArtifactMissing
	case j.Status == StatusCancelled:
		return reasons.Cancelled
	case j.stale(now, t):
		return reasons.TooLate
	}
	return ""
}

// close makes the message of a digest whose window is over. What it decides is frozen
// with the message, so that it stands however often the rest of it is done.
func (n generator) close(ctx context.Context, j *jobRow) (generated, error) {
	f, err := n.closed(ctx, j)
	if err != nil {
		return generated{}, err
	}
	now := driver.Now(n.store)
	if f.Deliveries[0].Open { // nothing is left to say
		j.skipped(now, f.why())
		return generated{}, nil
	}
	out, err := n.messagesOf(j, f)
	if err != nil {
		return generated{}, err
	}
	j.generated(now)
	j.ReasonCode = f.problem()
	return out, nil
}

func (n generator) closed(ctx context.Context, j *jobRow) (f frozen, err error) {
	if !j.Frozen.isZero() {
		return thaw(ctx, n.store.Blobs(), j.Frozen)
	}
	g, err := n.gather(ctx, j)
	if err != nil {
		return f, err
	}
	f = n.addressed(j.Recipients)
	f.Left, f.Last = g.left, g.last
	if len(g.told) > 0 {
		if err := n.renderDigest(ctx, j, g, &f.Deliveries[0]); err != nil {
			return f, err
		}
		j.ValidUntil = g.validUntil()
	}
	j.Frozen, err = freeze(ctx, n.store.Blobs(), f)
	return f, err
}

// renderDigest renders one message of all, or of as many as one message can say.
func (n generator) renderDigest(ctx context.Context, j *jobRow, g gathered, d *delivery) error {
	renderer := n.registry.lookup(j.Kind).Renderer
	if renderer == nil {
		return fmt.Errorf("notify: type %q has no renderer here", j.Kind)
	}
	for {
		view, to := j.telling(g, d.Recipient)
		content, err := n.rendered(ctx, renderer, view, to)
		if errors.Is(err, channel.ErrContent) && len(g.told) > 1 {
			half := len(g.told) / 2
			g.told, g.more = g.told[:half], g.more+len(g.told)-half
			continue
		}
		d.Content, d.Open = content, err != nil
		return err
	}
}

// telling is the digest as its renderer sees it. One of a single job is that job.
func (j *jobRow) telling(g gathered, to Recipient) (Job, Recipient) {
	view := j.view()
	if len(g.told) == 1 && g.more == 0 {
		view = g.told[0]
		to = view.Recipients[0]
	}
	view.Entries, view.More = g.told, g.more
	return view, to
}

// validUntil is when the last of what is told is stale; zero: what the type says.
func (g gathered) validUntil() (last time.Time) {
	for _, j := range g.told {
		if j.ValidUntil.IsZero() {
			return time.Time{}
		}
		last = later(j.ValidUntil, last)
	}
	return last
}

// why says why a digest has nothing to tell.
func (f frozen) why() string {
	if len(f.Left) > 0 {
		return f.Left[0].Reason
	}
	return reasons.EmptyDigest
}

// digestWanted asks about a digest's message: it goes out while one of
// its jobs is to be told still.
func (n sender) digestWanted(ctx context.Context, it sending, j *jobRow) bool {
	g, err := n.generator().gather(ctx, j)
	switch {
	case err == nil && len(g.told) > 0:
		return true
	case err == nil:
		it.Row.skip(driver.Now(n.store), frozen{Left: g.left}.why())
	case it.Ctx.Err() != nil:
		it.Row.released(driver.Now(n.store))
	default:
		it.Row.unasked(driver.Now(n.store), reasons.RevalidationFailed)
	}
	return false
}

// errBegun says that a worker has begun with a digest, or begun one, since it was read.
var errBegun = fmt.Errorf("notify: a digest has changed meanwhile: %w", storage.ErrStale)

// alone is a job without those that it tells.
func (j Job) alone() Job {
	j.Entries, j.More = nil, 0
	return j
}
