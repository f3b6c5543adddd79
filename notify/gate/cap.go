package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/frequency"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Cap limits how many messages a recipient gets, over all producers and methods: at most
// Limit in any period of Per. A message over the limit waits until it is within it. A
// reminder of a message is not counted against that message. Mandatory types pass and are
// not counted.
type Cap struct {
	Limit int           // at least 1, at most 1000
	Per   time.Duration // at least a minute
	// Types are the notification types that share this limit; other types are not counted.
	// Empty: all.
	Types []string
	// Skip ends a message over the limit instead of letting it wait.
	Skip bool
}

// Counts are stored by recipient, so that an erasure finds them.
type (
	frequencyRow = frequency.Row
	counted      = frequency.Counted
)

var frequencies = frequency.Table

// bounds reports whether messages of a type count.
func (c Cap) bounds(kind string) bool { return len(c.Types) == 0 || slices.Contains(c.Types, kind) }

// count lets a message through and records it, or returns when it may go. A message
// counts once, at the last time that it was let through.
func count(r *frequencyRow, caps []Cap, m counted) (next time.Time, over *Cap) {
	others := slices.DeleteFunc(slices.Clone(r.Messages), func(c counted) bool { return c.About() == m.About() })
	for i := range caps {
		if !caps[i].bounds(m.Type) {
			continue
		}
		if at := caps[i].free(others, m.On); at.After(m.On) && at.After(next) {
			next, over = at, &caps[i]
		}
	}
	if over == nil {
		r.Messages = append(slices.DeleteFunc(r.Messages, func(c counted) bool { return c.ID == m.ID }), m)
		slices.SortStableFunc(r.Messages, func(a, b counted) int { return a.On.Compare(b.On) })
	}
	return next, over
}

// free is when a cap allows one more message; a time not after now means at once.
// messages are ordered by time.
func (c Cap) free(messages []counted, now time.Time) time.Time {
	if len(c.Types) > 0 {
		messages = slices.DeleteFunc(slices.Clone(messages), func(m counted) bool { return !c.bounds(m.Type) })
	}
	within := 0
	for _, m := range messages {
		if m.On.Add(c.Per).After(now) {
			within++
		}
	}
	if within < c.Limit {
		return now
	}
	return messages[len(messages)-c.Limit].On.Add(c.Per)
}

// forget drops messages that no cap counts any more.
func forget(r *frequencyRow, caps []Cap, now time.Time) {
	longest := time.Duration(0)
	for _, c := range caps {
		longest = max(longest, c.Per)
	}
	r.Messages = slices.DeleteFunc(r.Messages, func(c counted) bool { return !c.On.Add(longest).After(now) })
}

// capGate enforces the caps.
type capGate struct {
	store storage.Store
	caps  []Cap
}

// newCapGate panics on an invalid cap.
func newCapGate(store storage.Store, caps []Cap) *capGate {
	for _, c := range caps {
		if c.Limit < 1 || c.Limit > 1000 || c.Per < time.Minute {
			panic(fmt.Sprintf("gate: New: a cap of %d messages per %v: Limit must be 1 to 1000, Per at least a minute", c.Limit, c.Per))
		}
		if slices.Contains(c.Types, "") {
			panic("gate: New: Cap.Types has an empty name")
		}
	}
	return &capGate{store, caps}
}

// counts reports whether a message counts for any cap.
func (g *capGate) counts(a *Attempt) bool {
	return !a.Mandatory && slices.ContainsFunc(g.caps, func(c Cap) bool { return c.bounds(a.NotificationType) })
}

func (*capGate) Name() string { return "frequency" }

func (g *capGate) Ask(ctx context.Context, a []Attempt) (out []Verdict, err error) {
	var changed map[*frequencyRow]bool
	err = counting(ctx, g.store, a[0].DryRun, func(from driver.Reader) (err error) {
		out, changed, err = g.count(ctx, from, a)
		return err
	}, func(tx storage.Tx) error {
		return upsert(ctx, tx, frequencies, slices.Collect(maps.Keys(changed)))
	})
	return out, err
}

// count decides, with one statement to read the rows, and returns the changed rows.
func (g *capGate) count(ctx context.Context, from driver.Reader, a []Attempt) (out []Verdict, changed map[*frequencyRow]bool, err error) {
	rows, err := g.rows(ctx, from, a)
	if err != nil {
		return nil, nil, err
	}
	out, changed = make([]Verdict, len(a)), map[*frequencyRow]bool{}
	for i := range a {
		if !g.counts(&a[i]) {
			continue
		}
		r := rows[placeOf(&a[i])]
		next, over := count(r, g.caps, counted{ID: a[i].MessageID, On: a[i].Now, Of: a[i].Reminds, Type: a[i].NotificationType})
		switch {
		case over == nil:
			changed[r] = true
		case over.Skip:
			out[i] = Skip(reasons.FrequencyCap)
		default:
			out[i] = Defer(next, reasons.FrequencyCap)
		}
	}
	for r := range changed {
		forget(r, g.caps, a[0].Now)
	}
	return out, changed, nil
}

// rows loads the recipients' rows, or makes new ones.
func (g *capGate) rows(ctx context.Context, from driver.Reader, a []Attempt) (map[driver.ScopedKey]*frequencyRow, error) {
	var places []driver.ScopedKey
	for i := range a {
		if g.counts(&a[i]) {
			places = append(places, placeOf(&a[i]))
		}
	}
	rows, err := frequencies.GetMany(ctx, from, places)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		if rows[p] == nil {
			rows[p] = &frequencyRow{Record: storage.Record{Scope: p.Scope, Key: p.Key}}
		}
	}
	return rows, nil
}

// placeOf is the key of a recipient's row.
func placeOf(a *Attempt) driver.ScopedKey {
	return driver.ScopedKey{Scope: a.Scope, Key: a.Recipient()}
}

// errOvertaken reports a concurrent write to the same count.
var errOvertaken = errors.New("gate: another process changed the count")

// counting runs answer, which reads, and write in one transaction, and retries on
// concurrent writes. Each time at least one writer succeeds, so a few retries are enough.
// A dry run only reads.
func counting(ctx context.Context, store storage.Store, dry bool, answer func(driver.Reader) error, write func(storage.Tx) error) error {
	if dry {
		return store.View(ctx, answer)
	}
	for range 20 {
		err := store.InTx(ctx, func(tx storage.Tx) error {
			if err := answer(tx); err != nil {
				return err
			}
			return write(tx)
		})
		if !errors.Is(err, errOvertaken) {
			return err
		}
	}
	return fmt.Errorf("%w after several tries: %w", errOvertaken, storage.ErrBusy)
}

// upsert updates loaded rows and inserts new ones. After a concurrent write it returns
// errOvertaken, which rolls the transaction back.
func upsert[R any](ctx context.Context, tx storage.Tx, t *driver.Table[R], rows []*R) error {
	var old, add []*R
	for _, r := range rows {
		if t.Record(r).ID == 0 {
			add = append(add, r)
		} else {
			old = append(old, r)
		}
	}
	byPlace := func(a, b *R) int {
		x, y := t.Record(a), t.Record(b)
		return cmp.Or(cmp.Compare(x.Scope, y.Scope), cmp.Compare(x.Key, y.Key))
	}
	slices.SortFunc(add, byPlace) // the same order everywhere prevents deadlocks
	slices.SortFunc(old, byPlace)
	inserted, err := t.Insert(ctx, tx, add...)
	if err != nil {
		return err
	}
	for _, ok := range inserted {
		if !ok {
			return errOvertaken
		}
	}
	if err := t.Save(ctx, tx, old...); errors.Is(err, storage.ErrStale) {
		return errOvertaken
	} else if err != nil {
		return err
	}
	return nil
}
