package support

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/once"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Action is what a support desk does.
type Action string

// The actions. Each does what the method of that name of its domain does, and is audited
// there.
const (
	Release Action = "Release" // ends a hold
	Retry   Action = "Retry"   // tries again what failed
	Rerun   Action = "Rerun"   // does once more what is finished
	RunNow  Action = "RunNow"  // runs a report beside its cadence
	Cancel  Action = "Cancel"  // stops it for good
	Resolve Action = "Resolve" // settles a doubt; see Order.Decision
	Replay  Action = "Replay"  // tells a subscriber again what it was not able to take
	Pause   Action = "Pause"   // keeps work from being begun
	Resume  Action = "Resume"  // ends a pause
	Replan  Action = "Replan"  // plans open reminders again
	SendTo  Action = "SendTo"  // sends a message once more, to another address; see Order.To
	Stop    Action = "Stop"    // stops messages to a person; see Order.Group
	Allow   Action = "Allow"   // ends a Stop
	Unblock Action = "Unblock" // lets messages to an address through again
	Take    Action = "Take"    // gives an unhappy response to who acts
	Handle  Action = "Handle"  // takes an unhappy response off the list; By.Reason says what was done
	Erase   Action = "Erase"   // removes what is known of a person; see Order.Confirm
)

// Actions are all of them.
func Actions() []Action {
	return []Action{Release, Retry, Rerun, RunNow, Cancel, Resolve, Replay, Pause, Resume, Replan, SendTo, Stop, Allow, Unblock, Take, Handle, Erase}
}

// Target is what an action is about: a row by Kind and Key, as an [Entry] has them, a
// person by the host's id, or, without a Kind, a part of the work.
type Target struct {
	Kind Kind
	Key  string
	Part Part
}

// Part is a part of the work. Pause and Resume take a type or, of package notify, a channel,
// or all of the domain; Replan a reminder type, a setting, or all of the tenant; Replay a
// subscriber; Resolve the messages in doubt of one outage: a Channel, OwnAccount or not, and
// the hours From to Until in which their last calls began, as [Desk.Doubts] has them. It is
// that of the scope of the call unless Everywhere, which Replan and Replay do not know.
type Part struct {
	Domain        string // "automation", "notify" or "survey"
	Type, Channel string
	Setting       string // of Replan: a reminder setting
	Subscriber    string // of Replay
	Everywhere    bool
	OwnAccount    bool      // of Resolve: the account that the scope has of its own
	From, Until   time.Time // of Resolve
}

// Order is an action on one target or many.
type Order struct {
	Action  Action
	Targets []Target // 1 to MaxTargets
	// Decision is that of Resolve: whether the message in doubt counts as sent, or is sent
	// again.
	Decision notify.Decision
	// Evidence is what a Resolve rests on, such as the provider's id of the message or a
	// line of its log. The audit has it behind the reason.
	Evidence string
	Until    time.Time // the end of a Pause; zero: a person resumes it
	// To is the address that SendTo sends to. Group is what Stop and Allow are about: one of
	// [notify.Options].Groups; empty: all messages.
	To, Group string
	// Addresses are those of the one person whom Erase is about, and Confirm is their Key
	// once more, typed by whoever acts; a dry run needs no Confirm.
	Addresses []notify.Destination
	Confirm   string
	By        By
	// Request is an id that the caller has made up for this order; empty: none. The same id
	// of the same actor and scope gets the first answer for a week, and does nothing.
	// Another order under it is ErrRequest.
	Request string
	// DryRun answers the same and changes nothing.
	DryRun bool
}

// MaxTargets bounds the targets of one order.
const MaxTargets = 100

// Acted is what became of one target.
type Acted struct {
	Target
	// Done says that it was done, or would be. Else Refused says why not, or NotFound that
	// the scope has no such row.
	Done     bool
	NotFound bool
	Refused  string
	// Effect says to people what a dry run would have done, and Sends how many messages
	// it would send for certain.
	Effect string
	Sends  int
	// MessageID is the message that a SendTo made.
	MessageID string
}

// errDry ends the transaction of a dry run.
var errDry = errors.New("dry run")

// Act does what an order says to each of its targets, each in a transaction of its own
// with its audit, and answers in their order. One that is refused or not there does not
// stop the others. A dry run does the same and takes it back. An order that makes no sense is
// an error before anything is done; after an error of the database the targets that are
// answered for are done, and it is safe to repeat, best with a Request.
func (d *Desk) Act(ctx context.Context, scope Scope, o Order) ([]Acted, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("support: Act: %w: %w", ErrOrder, err)
	}
	operations := make([]operation, len(o.Targets))
	for i, t := range o.Targets {
		var err error
		if operations[i], err = (planner{d.core}).operation(scope, o, t); err != nil {
			return nil, fmt.Errorf("support: Act: %w: target %d: %w", ErrOrder, i+1, err)
		}
	}
	as := o.request(scope)
	doer := doer{d.core}
	said, err := doer.said(ctx, as)
	if err != nil {
		return nil, fmt.Errorf("support: Act: %w", err)
	}
	out := make([]Acted, len(o.Targets))
	for i, t := range o.Targets {
		a, known := said[i]
		if !known {
			if a, err = doer.act(ctx, as.At(i), o, operations[i]); err != nil {
				return out[:i], fmt.Errorf("support: Act: %w", err)
			}
		}
		a.Target = t
		out[i] = a
	}
	return out, nil
}

// doer runs operations, and knows what was answered.
type doer struct{ *core }

// act runs one operation, and keeps the answer with it.
func (d doer) act(ctx context.Context, as once.Place, o Order, do operation) (a Acted, err error) {
	var what effect
	begin := d.o.Store.InTx
	if o.inPages(o.Targets[as.Target]) {
		begin = func(_ context.Context, f func(storage.Tx) error) error { return f(nil) }
	}
	err = begin(ctx, func(tx storage.Tx) (err error) {
		if what, err = do(ctx, tx); err != nil {
			return err
		}
		switch {
		case o.DryRun:
			return errDry
		case tx == nil:
			return d.o.Store.InTx(ctx, func(tx storage.Tx) error { return keep(ctx, tx, as, Acted{Done: true}) })
		}
		return keep(ctx, tx, as, Acted{Done: true, MessageID: what.message})
	})
	switch {
	case errors.Is(err, errDry):
		return Acted{Done: true, Effect: what.text, Sends: what.sends}, nil
	case err == nil:
		return Acted{Done: true, MessageID: what.message}, nil
	case errors.Is(err, once.ErrAnswered):
		return d.saidAt(ctx, as)
	case errors.Is(err, automation.ErrActionRefused):
		a.Refused = refusal(err, o.Action, o.Targets[as.Target])
	case errors.Is(err, storage.ErrNotFound):
		a.NotFound = true
	default:
		return a, err
	}
	if as.Request == (once.Request{}) {
		return a, nil
	}
	err = d.o.Store.InTx(ctx, func(tx storage.Tx) error { return keep(ctx, tx, as, a) })
	if errors.Is(err, once.ErrAnswered) {
		return d.saidAt(ctx, as)
	}
	return a, err
}

// inPages reports whether an operation goes page by page, in transactions of its own, and is safe
// to repeat.
func (o Order) inPages(t Target) bool {
	return o.Action == Erase || o.Action == Resolve && t.Kind == ""
}

func (o Order) check() error {
	switch {
	case !slices.Contains(Actions(), o.Action):
		return fmt.Errorf("unknown action %.40q", string(o.Action))
	case len(o.Targets) == 0 || len(o.Targets) > MaxTargets:
		return fmt.Errorf("%d targets, not 1 to %d", len(o.Targets), MaxTargets)
	case o.Action == Resolve && o.Decision != notify.DecideSent && o.Decision != notify.DecideSendAgain:
		return fmt.Errorf("unknown decision %.40q", string(o.Decision))
	case o.To != "" && o.Action != SendTo || o.To == "" && o.Action == SendTo:
		return errors.New("SendTo needs To, and no other action takes it")
	case o.Action == SendTo && len(o.Targets) > 1:
		return errors.New("one message is sent to another address at a time")
	case o.Group != "" && o.Action != Stop && o.Action != Allow:
		return errors.New("the Group is for Stop and Allow")
	case o.Evidence != "" && o.Action != Resolve:
		return errors.New("the Evidence is for Resolve")
	case o.Action == Erase && len(o.Targets) > 1:
		return errors.New("one person is erased at a time")
	case o.Action == Erase && !o.DryRun && o.Confirm != o.Targets[0].Key:
		return errors.New("the Confirm is not the Key of the person")
	case len(o.Request) > maxRequest:
		return fmt.Errorf("the Request has %d bytes, more than %d", len(o.Request), maxRequest)
	}
	return o.by().Check()
}

// by is who acts and why, with what it rests on.
func (o Order) by() By {
	if o.Evidence != "" {
		o.By.Reason += " (evidence: " + o.Evidence + ")"
	}
	return o.By
}

// refusal is why a domain refused, without the key and who has paused it.
func refusal(err error, a Action, t Target) string {
	if a == Pause && t.Kind == "" {
		return "it is paused already"
	}
	text := err.Error()
	return text[strings.LastIndex(text, ": ")+len(": "):]
}

// ErrOrder says that an order is invalid; nothing was done.
var ErrOrder = errors.New("invalid order")

var errTarget = errors.New("the action is not one for this kind of target")
