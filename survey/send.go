package survey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// NotificationType is what gates, pauses, caps and preferences of package notify
// call the sends of this package.
const NotificationType = "survey"

// sendPass makes a message of each send that is due, in the transaction that notes it with
// the link, and expires links. Package notify sends the message, and the link hears what
// becomes of it (see owner). A claim leaves the status alone: a customer may open and
// answer the form meanwhile.
func (s sender) sendPass() work.Pass {
	return work.New(s.store, work.Spec[instanceRow, *notify.OutgoingMessage]{
		Name: "survey.send", Table: instances, Claimable: active, Types: s.kinds,
		Limit:    func(string) time.Duration { return time.Hour },
		Handle:   s.make,
		Dispatch: s.queue,
		Fail:     func(now time.Time, r *instanceRow, _ error) { r.passFailed(now) },
		Abandon:  func(now time.Time, r *instanceRow) { r.abandoned(now) },
		Release:  func(time.Time, *instanceRow) {}, // it is as due as it was
		Settled:  writeLog,
	})
}

// kinds are those of rows that this process takes beside those of none: sends, if it has
// channels. It makes the messages of others, too.
func (s *core) kinds() []string {
	if len(s.out.Channels()) > 0 {
		return []string{sendKind}
	}
	return nil
}

// sending is a claimed instance.
type sending struct {
	work.Item[instanceRow]
	version *version
	trigger *form.Trigger
	grace   time.Duration
	message *notify.OutgoingMessage // that was made for it
}

// make decides about links: each ends, has what became of its message, or gets a message.
func (s sender) make(ctx context.Context, items []work.Item[instanceRow]) ([]*notify.OutgoingMessage, error) {
	all, err := s.pinned(ctx, items)
	if err == nil {
		err = s.look(ctx, all)
	}
	if err != nil {
		return nil, err
	}
	s.compose(ctx, s.wanted(all))
	out := make([]*notify.OutgoingMessage, len(all))
	for i, it := range all {
		if out[i] = it.message; it.message == nil { // else it counts with what becomes of the message
			linksOf(ctx).add(it.Row.PublicID)
		}
		it.Row.plan(it.grace)
		it.Row.notAgainAtOnce(driver.Now(s.store))
	}
	return out, nil
}

// look brings into links what became of their messages, as the process that wrote it may not
// have had the surveys, and ends the messages of links whose time is over.
func (s sender) look(ctx context.Context, all []*sending) error {
	var places []driver.ScopedKey
	for _, it := range all {
		if it.Row.Queued {
			places = append(places, it.Row.messageAt())
		}
	}
	if len(places) == 0 {
		return nil
	}
	var found map[driver.ScopedKey]owned.Message
	err := s.store.View(ctx, func(from driver.Reader) (err error) {
		found, err = s.out.Find(ctx, from, places...)
		return err
	})
	if err != nil {
		return err
	}
	var over []*sending
	for _, it := range all {
		r := it.Row
		if !r.Queued {
			continue
		}
		m, there := found[r.messageAt()]
		if !there {
			r.stop(driver.Now(s.store), reasons.PassFailed) // it is gone, sent or not
			continue
		}
		it.take(driver.Now(s.store), m)
		if r.Queued && r.isOpen() && !r.IsOnSupportHold && !driver.Now(s.store).Before(r.endsOn(it.grace)) {
			over = append(over, it)
		}
	}
	return s.endOver(ctx, over)
}

// endOver ends the messages of links whose time is over, in a transaction before that of the
// links: code that writes both writes the message first. One that is called at this moment has
// its end first.
func (s sender) endOver(ctx context.Context, all []*sending) error {
	if len(all) == 0 {
		return nil
	}
	places := make([]driver.ScopedKey, len(all))
	for i, it := range all {
		places[i] = it.Row.messageAt()
	}
	now := driver.Now(s.store)
	var ended map[driver.ScopedKey]owned.Message
	err := s.store.InTx(ctx, func(tx storage.Tx) (err error) {
		ended, err = s.out.End(ctx, tx, now, reasons.LinkOver, places...)
		return err
	})
	if err != nil {
		return err
	}
	for i, it := range all {
		switch m := ended[places[i]]; {
		case m.Called(now):
		case m.Status == notify.StatusCancelled:
			it.Row.Queued = false
		default:
			it.take(now, m)
		}
	}
	return nil
}

// wanted leaves out, and expires, what is not to be sent now.
func (s sender) wanted(all []*sending) (open []*sending) {
	for _, it := range all {
		switch r, now := it.Row, driver.Now(s.store); {
		case !r.isOpen() || r.IsOnSupportHold || r.Queued:
		case !now.Before(r.endsOn(it.grace)):
			r.expire(now)
		case r.NextSendOn.IsZero() || r.sendOn().After(now):
		default:
			open = append(open, it)
		}
	}
	return open
}

// queue makes the messages, in the transaction that has saved their links.
func (s sender) queue(ctx context.Context, tx storage.Tx, done []work.Done[instanceRow, *notify.OutgoingMessage]) error {
	var messages []notify.OutgoingMessage
	for _, d := range done {
		if d.Result != nil {
			messages = append(messages, *d.Result)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	made, err := s.notifier.EnsureOutgoingMessage(ctx, tx, messages...)
	if err != nil {
		return err
	}
	var over []driver.ScopedKey // its recipient was erased
	for _, e := range made {
		if e.Status != notify.StatusCreated {
			over = append(over, driver.ScopedKey{Scope: e.Scope, Key: e.Key})
		}
	}
	if len(over) == 0 {
		return nil
	}
	found, err := s.out.Find(ctx, tx, over...)
	if err != nil {
		return err
	}
	var all []owned.Message
	for _, at := range over {
		all = append(all, found[at])
	}
	return owner(s).Changed(ctx, tx, all)
}

// pinnedTo finds the versions that links are pinned to; one that cannot be read is nil. A
// nil link has none.
func (s *core) pinnedTo(ctx context.Context, from driver.Reader, rows []*instanceRow) (map[versionRef]*version, error) {
	found := map[versionRef]*version{}
	for _, r := range rows {
		if r != nil {
			found[r.ref()] = nil
		}
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(found)), versionsAtOnce) {
		set, err := s.versionsOf(ctx, from, some...)
		if err != nil {
			return nil, err
		}
		for _, ref := range some {
			switch v, err := set.of(ref); {
			case err == nil:
				found[ref] = v
			case !unreadable(err):
				return nil, err
			}
		}
	}
	return found, nil
}

// pinned finds the version and the trigger that each row is pinned to. A row
// without them can still expire.
func (s *core) pinned(ctx context.Context, items []work.Item[instanceRow]) (out []*sending, err error) {
	rows := make([]*instanceRow, len(items))
	for i, it := range items {
		rows[i] = it.Row
	}
	var found map[versionRef]*version
	err = s.store.View(ctx, func(from driver.Reader) (err error) {
		found, err = s.pinnedTo(ctx, from, rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	out = make([]*sending, len(items))
	for i, it := range items {
		out[i] = s.sendingOf(it, found[it.Row.ref()])
	}
	return out, nil
}

func (s *core) sendingOf(it work.Item[instanceRow], v *version) *sending {
	it.Row.Of = v
	t := triggerOf(v, it.Row.TriggerID)
	return &sending{Item: it, version: v, trigger: t, grace: s.graceOf(t)}
}

// unreadable errors are about one version; others are about the database.
func unreadable(err error) bool {
	return errors.Is(err, storage.ErrNotFound) || errors.Is(err, errUnreadable)
}

func triggerOf(v *version, id string) *form.Trigger {
	if v == nil {
		return nil
	}
	return v.Trigger(id)
}

// graceOf is how long an instance of that trigger stays open after its last send.
func (s *core) graceOf(t *form.Trigger) time.Duration {
	if t != nil && t.ExpiryGrace != nil {
		return time.Duration(*t.ExpiryGrace)
	}
	return s.options.ExpiryGrace
}

// policy is what is done about a send of which it is unknown whether it was made. Where the
// host names none, a reminder counts as sent, since a customer would rather miss one than get
// it twice; the first send is made once more, since else they would never be asked.
func (s *core) policy(r *instanceRow) notify.InDoubt {
	switch {
	case s.options.InDoubt != "":
		return s.options.InDoubt
	case r.SendOrdinal > 0:
		return notify.AssumeSent
	}
	return notify.ResendOnce
}

// checkPolicy panics on an option that no program can mean.
func (s *core) checkPolicy() {
	switch s.options.InDoubt {
	case "", notify.AssumeSent, notify.Resend, notify.ResendOnce, notify.Hold:
	default:
		panic(fmt.Sprintf("survey: New: %q is not a policy for a send in doubt", string(s.options.InDoubt)))
	}
}

// each runs f for all items at once and waits.
func each(items []*sending, f func(*sending)) {
	var wg sync.WaitGroup
	for _, it := range items {
		wg.Go(func() { f(it) })
	}
	wg.Wait()
}

// links are those that a poll has worked on.
type links struct {
	mu  sync.Mutex
	ids map[string]bool
}

type linksKey struct{}

// counting is a context whose polls count links.
func counting(ctx context.Context) (context.Context, *links) {
	l := &links{ids: map[string]bool{}}
	return context.WithValue(ctx, linksKey{}, l), l
}

// linksOf are those that a context counts; nil: it counts none.
func linksOf(ctx context.Context) *links {
	l, _ := ctx.Value(linksKey{}).(*links)
	return l
}

func (l *links) add(publicID string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids[publicID] = true
}

func (l *links) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ids)
}
