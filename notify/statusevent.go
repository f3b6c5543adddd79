package notify

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// MaxWebhookEvents is how many events one callback may bring.
const MaxWebhookEvents = 10_000

// What can be wrong with a callback beside [channel.ErrWebhookRefused]. Any other error of
// [Notifier.Receive] is our own failure, and the provider should repeat.
var (
	// ErrWebhookUnreadable is a callback that is genuine and cannot be understood.
	ErrWebhookUnreadable = errors.New("notify: webhook cannot be read")
	// ErrWebhookTooLarge is a callback with more than MaxWebhookEvents.
	ErrWebhookTooLarge = errors.New("notify: webhook with too many events")
)

// Receive has w prove and read a callback, and tracks its events. account is the tenant
// whose own account w belongs to, or empty for an account that tenants share: what w proves
// says nothing about messages of others. The time of the request is the store's. Events that say too little are counted as refused, and
// do not stop the others. A panic of w is an error, which holds nothing of the
// callback, as no error of Receive does.
func (n *Notifier) Receive(ctx context.Context, account Scope, w channel.Webhook, r channel.WebhookRequest) (TrackReport, error) {
	if err := deliveryEvents.CheckScope(account); err != nil {
		return TrackReport{}, fmt.Errorf("notify: webhook of %s: account: %w", w.Provider(), err)
	}
	r.Now = driver.Now(n.store)
	var events []channel.StatusEvent
	err := work.Guard(func() (err error) {
		events, err = w.Events(r)
		return err
	})
	n.logPanic("a webhook panicked", err, slog.String("provider", w.Provider()))
	var panicked *work.PanicError
	switch {
	case errors.Is(err, channel.ErrWebhookRefused):
		return TrackReport{}, channel.ErrWebhookRefused
	case errors.As(err, &panicked):
		return TrackReport{}, fmt.Errorf("notify: webhook of %s: %w", w.Provider(), panicked)
	case errors.Is(err, channel.ErrWebhookLater):
		return TrackReport{}, channel.ErrWebhookLater
	case err != nil:
		return TrackReport{}, ErrWebhookUnreadable
	case len(events) > MaxWebhookEvents:
		return TrackReport{}, ErrWebhookTooLarge
	}
	usable := make([]channel.StatusEvent, 0, len(events))
	for _, e := range events {
		e.Provider, e.Account = w.Provider(), string(account)
		if checkEvent(e) == nil {
			usable = append(usable, e)
		}
	}
	rep, err := n.Track(ctx, usable...)
	rep.Refused += len(events) - len(usable)
	return rep, err
}

// Bounced reads a mail that came back to a return path of one of this process's channels
// (Options.ReturnPath of package smtp), and tracks its events as Receive does. raw is the mail
// as it was received, headers first. One that did not come to such a path is
// [channel.ErrWebhookRefused], and one that cannot be understood [ErrWebhookUnreadable]; after
// any other error the mail server should deliver it again. What came back to a tenant's own
// account goes to Receive, with its channel, as the Body of a request.
func (n *Notifier) Bounced(ctx context.Context, raw []byte) (TrackReport, error) {
	for _, key := range slices.Sorted(maps.Keys(n.registry.members)) {
		w, ok := n.registry.members[key].(channel.Webhook)
		if !ok {
			continue
		}
		rep, err := n.Receive(ctx, "", w, channel.WebhookRequest{Body: raw})
		if !errors.Is(err, channel.ErrWebhookRefused) {
			return rep, err
		}
	}
	return TrackReport{}, channel.ErrWebhookRefused
}

// deliveryEvent is an event of a provider as it is kept: the memory by which a
// repeated one is known, and a due row while its message is not known. Its Type is
// the provider. Its Scope is the tenant whose own account reports; empty: one that tenants
// share, and the message says the tenant.
type deliveryEvent struct {
	driver.Due
	StatusKind        channel.StatusKind `db:"status_kind,fixed,plain"`
	MessageID         string             `db:"message_id,fixed,plain"`
	ProviderMessageID string             `db:"provider_message_id,fixed,plain"`
	Code              string             `db:"code,fixed,plain"`
	Lasting           bool               `db:"lasting,fixed"`
	On                time.Time          `db:"happened_on,fixed"`
	ReceivedOn        time.Time          `db:"received_on,fixed"`
	AddressHash       string             `db:"address_hash,fixed,person"`
	AddressOnly       bool               `db:"address_only,fixed"` // of the message's recipient only if that is theirs
	List              string             `db:"list,fixed,plain"`   // that a recipient left or came back to
	Tries             int                `db:"tries"`              // how often its message was looked for in vain

	// returned are the hashes of an address that came back, of an event that names no
	// message.
	returned []string
}

var deliveryEvents = driver.Define[deliveryEvent]("delivery_event").Grows(driver.WithWork).
	Kept("a month", "a callback that comes again is known")

// matchWaits are the pauses before an event's message is looked for again.
var matchWaits = [...]time.Duration{time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour}

// ErrStatusEvent is a [channel.StatusEvent] that says too little to be used.
var ErrStatusEvent = errors.New("notify: not a status event")

// checkEvent tells what is missing. The text holds no data.
func checkEvent(e channel.StatusEvent) error {
	switch {
	case checkProvider(e.Provider) != nil:
		return checkProvider(e.Provider)
	case e.EventID == "":
		return errors.New("it has no EventID")
	case statusOf[e.Kind] == "":
		return errors.New("its Kind is unknown")
	case isReturn(e):
		return nil
	case e.MessageID == "" && e.ProviderMessageID == "":
		return errors.New("it has neither MessageID nor ProviderMessageID")
	case e.MessageID != storable.Code(e.MessageID) || e.ProviderMessageID != storable.Code(e.ProviderMessageID):
		return errors.New("an id is longer than 200 bytes or holds control characters")
	}
	return nil
}

// isReturn reports whether an event says that the owner of an address came back, and names
// no message.
func isReturn(e channel.StatusEvent) bool {
	return e.Kind == channel.KindResubscribed && e.MessageID == "" && e.ProviderMessageID == "" && e.Method != "" && e.Address != ""
}

var errProvider = errors.New("a provider's name is lower-case letters, digits and '-', at most 40")

// checkProvider keeps names apart from what keys are joined with, and from data
// in metrics and paths.
func checkProvider(name string) error {
	if name == "" || len(name) > 40 {
		return errProvider
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return errProvider
		}
	}
	return nil
}

// newEvent makes the stored form of an event that has passed its check.
func newEvent(e channel.StatusEvent, now time.Time) (*deliveryEvent, error) {
	key, err := keys.Join(e.Provider, hashOf("belfry-event-1", e.EventID))
	if err != nil {
		return nil, err
	}
	on := cmp.Or(driver.Time(e.On), now)
	if on.After(now) || on.Year() < 2000 {
		on = now // a clock that is not to be believed
	}
	return &deliveryEvent{
		Due:        driver.Due{Record: storage.Record{Scope: Scope(e.Account), Key: key, Kind: e.Provider, Status: statusWaiting}, DueOn: now.Add(matchWaits[0])},
		StatusKind: e.Kind, MessageID: e.MessageID, ProviderMessageID: e.ProviderMessageID,
		Code: storable.Code(e.Code), Lasting: e.Lasting, On: on, ReceivedOn: now, List: storable.Code(e.List), AddressOnly: e.AddressOnly,
	}, nil
}

// hashOf makes a key of any text of a provider, whatever its length and signs.
func hashOf(format, text string) string {
	sum := keys.Sum(format, text)
	return hex.EncodeToString(sum[:20])
}

func (e *deliveryEvent) become(status string) {
	eventStates.Must(e.Status, status)
	e.Status = status
}

// matched is an event whose message is known.
func (e *deliveryEvent) matched() {
	e.become(statusMatched)
	e.DueOn = time.Time{}
}

// unmatched waits for the message to appear, or gives up.
func (e *deliveryEvent) unmatched(now time.Time) {
	e.Tries++
	if e.Tries < len(matchWaits) {
		e.DueOn = now.Add(matchWaits[e.Tries])
		return
	}
	e.become(statusOrphan)
	e.DueOn = time.Time{}
}

// DeliveryFact is what a provider reported about a message beside its status:
// that it bounced, that its recipient complained, unsubscribed or came back. It is written
// once and kept as long as the message.
type DeliveryFact struct {
	MessageID string
	Kind      channel.StatusKind // KindBounced, KindComplained, KindUnsubscribed or KindResubscribed
	Provider  string
	Code      string // the provider's, if it gave one
	Lasting   bool   // of a bounce: the address does not exist
	On        time.Time
}

// factRow has the columns of a [DeliveryFact].
type factRow struct {
	storage.Record
	Provider string    `db:"provider,fixed,plain"`
	Code     string    `db:"code,fixed,plain"`
	Lasting  bool      `db:"lasting,fixed"`
	On       time.Time `db:"happened_on,fixed"`
}

func (f *factRow) view() DeliveryFact {
	id, _, _ := strings.Cut(f.Key, "\x1f")
	return DeliveryFact{MessageID: id, Kind: channel.StatusKind(f.Kind), Provider: f.Provider, Code: f.Code, Lasting: f.Lasting, On: f.On}
}

var deliveryFacts = driver.Define[factRow]("delivery_fact").Grows(driver.WithWork).
	Kept("Retention.Messages", "as long as its message, so that a late callback has no consequences twice")

// DeliveryFacts lists what was reported about messages of scope, by their MessageIDs, in
// no promised order, and at most a thousand of each. A message of which nothing was
// reported, and one of another scope, have none.
func (n Support) DeliveryFacts(ctx context.Context, scope Scope, messageIDs ...string) (out []DeliveryFact, err error) {
	err = n.read(ctx, nil, func(from driver.Reader) error {
		out = nil
		found, err := deliveryFacts.FindChildren(ctx, from, scope, messageIDs, driver.Query{Limit: maxPage})
		for _, id := range messageIDs {
			for _, f := range found[id] {
				out = append(out, f.view())
			}
			delete(found, id) // it may be named twice
		}
		return err
	})
	return out, err
}

// newFact is a fact that was not known before.
type newFact struct {
	event   *deliveryEvent
	message *messageRow
}

// factKinds are kinds of events that are kept beside a message's status.
var factKinds = []channel.StatusKind{channel.KindBounced, channel.KindComplained, channel.KindUnsubscribed, channel.KindResubscribed}

// keepFacts stores the facts among events and gives those that are new: an event
// that comes again after it was forgotten has no consequences for the second time.
func keepFacts(ctx context.Context, tx storage.Tx, events []*deliveryEvent, found map[*deliveryEvent]*messageRow) ([]newFact, error) {
	var rows []*factRow
	var facts []newFact
	for _, e := range events {
		if !slices.Contains(factKinds, e.StatusKind) {
			continue
		}
		m := found[e]
		rows = append(rows, &factRow{
			Record:   storage.Record{Scope: m.Scope, Key: m.MessageID + "\x1f" + e.Key, Kind: string(e.StatusKind)},
			Provider: e.Kind, Code: e.Code, Lasting: e.Lasting, On: e.On,
		})
		facts = append(facts, newFact{e, m})
	}
	isNew, err := deliveryFacts.Insert(ctx, tx, rows...)
	var out []newFact
	for i, f := range facts {
		if err == nil && isNew[i] {
			out = append(out, f)
		}
	}
	return out, err
}
