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

// Action is an action of a support desk.
type Action string

// The actions. Each does the same as the method of that name in its domain, which also
// audits it.
const (
	Release Action = "Release" // ends a hold
	Retry   Action = "Retry"   // tries again what failed
	Rerun   Action = "Rerun"   // repeats finished work
	RunNow  Action = "RunNow"  // runs a report now, outside of its cadence
	Cancel  Action = "Cancel"  // stops it for good
	Resolve Action = "Resolve" // decides an unknown outcome; see Order.Decision
	Replay  Action = "Replay"  // redelivers its dead letters to a subscriber
	Pause   Action = "Pause"   // stops new work from beginning
	Resume  Action = "Resume"  // ends a pause
	Replan  Action = "Replan"  // plans open reminders again
	SendTo  Action = "SendTo"  // sends a message once more, to another address; see Order.To
	Stop    Action = "Stop"    // stops messages to a person; see Order.Group
	Allow   Action = "Allow"   // ends a Stop
	Unblock Action = "Unblock" // lets messages to an address through again
	Take    Action = "Take"    // assigns an unhappy response to the actor
	Handle  Action = "Handle"  // closes an unhappy response; By.Reason says what was done
	Erase   Action = "Erase"   // removes what is stored about a person; see Order.Confirm
)

// Actions lists all actions.
func Actions() []Action {
	return []Action{Release, Retry, Rerun, RunNow, Cancel, Resolve, Replay, Pause, Resume, Replan, SendTo, Stop, Allow, Unblock, Take, Handle, Erase}
}

// Target is the object of an action: a row by Kind and Key, as in an [Entry]; a person by
// the host's id; or, without a Kind, a part of the work.
type Target struct {
	Kind Kind
	Key  string
	Part Part
}

// Part is a part of the work. Pause and Resume take a type or, of package notify, a
// channel, or all of the domain; Replan a reminder type, a setting, or all of the tenant;
// Replay a subscriber; Resolve takes the unknown outcomes of one outage: a Channel,
// OwnAccount or not, and the hours From to Until in which their last calls began, as
// [Desk.Doubts] returns them. A Part belongs to the scope of the call, or to all tenants
// with Everywhere, which Replan and Replay do not support.
type Part struct {
	Domain        string // "automation", "notify" or "survey"
	Type, Channel string
	Setting       string // of Replan: a reminder setting
	Subscriber    string // of Replay
	Everywhere    bool
	OwnAccount    bool      // of Resolve: the tenant's own account
	From, Until   time.Time // of Resolve
}

// Order is an action on one target or many.
type Order struct {
	Action  Action
	Targets []Target // 1 to MaxTargets
	// Decision is for Resolve: whether the message of unknown outcome counts as sent or is
	// sent again.
	Decision notify.Decision
	// Evidence is the proof behind a Resolve, such as the provider's id of the message or a
	// line of its log. The audit stores it after the reason.
	Evidence string
	Until    time.Time // the end of a Pause; zero: a person resumes it
	// To is the address that SendTo sends to. Group is for Stop and Allow: one of
	// [notify.Options].Groups; empty: all messages.
	To, Group string
	// Addresses are the addresses of the person to Erase. Confirm repeats the person's Key,
	// typed by the actor; a dry run needs no Confirm.
	Addresses []notify.Destination
	Confirm   string
	By        By
	// Request is an id that the caller chooses for this order; empty: none. For a week the
	// same id by the same actor in the same scope returns the first answer and does nothing.
	// Another order with the same id is ErrRequest.
	Request string
	// DryRun returns the same answer and changes nothing.
	DryRun bool
}

// MaxTargets is the limit of targets of one order.
const MaxTargets = 100

// Acted is the result for one target.
type Acted struct {
	Target
	// Done says that it was done or, in a dry run, would be. Otherwise Refused says why not,
	// or NotFound that the scope has no such row.
	Done     bool
	NotFound bool
	Refused  string
	// Effect describes what a dry run would do. Sends is the number of messages that it
	// would certainly send.
	Effect string
	Sends  int
	// MessageID is the message that a SendTo made.
	MessageID string
}

// errDry ends the transaction of a dry run.
var errDry = errors.New("dry run")

// Act executes an order on each of its targets, each in a transaction of its own together
// with its audit entry, and answers in their order. A target that is refused or not found
// does not stop the others. A dry run does the same and rolls it back. An invalid order
// is an error before anything is done. After an error of the database the targets in the
// answer are done; it is safe to repeat the order, best with a Request.
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

// doer runs operations and stores their answers.
type doer struct{ *core }

// act runs one operation and stores its answer in the same transaction.
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

// inPages reports whether an operation works page by page, in transactions of its own,
// and is safe to repeat.
func (o Order) inPages(t Target) bool {
	return o.Action == Erase || o.Action == Resolve && t.Kind == ""
}

func (o Order) check() error {
	switch {
	case !slices.Contains(Actions(), o.Action):
		return fmt.Errorf("unknown action %.40q: take one of support.Actions", string(o.Action))
	case len(o.Targets) == 0 || len(o.Targets) > MaxTargets:
		return fmt.Errorf("%d targets: give 1 to %d", len(o.Targets), MaxTargets)
	case o.Action == Resolve && o.Decision != notify.DecideSent && o.Decision != notify.DecideSendAgain:
		return fmt.Errorf("unknown decision %.40q: take Sent or SendAgain", string(o.Decision))
	case o.To != "" && o.Action != SendTo || o.To == "" && o.Action == SendTo:
		return errors.New("SendTo needs the address To; other actions must leave it empty")
	case o.Action == SendTo && len(o.Targets) > 1:
		return errors.New("SendTo takes one target")
	case o.Group != "" && o.Action != Stop && o.Action != Allow:
		return errors.New("only Stop and Allow take a Group")
	case o.Evidence != "" && o.Action != Resolve:
		return errors.New("only Resolve takes Evidence")
	case o.Action == Erase && len(o.Targets) > 1:
		return errors.New("an Erase takes one target")
	case o.Action == Erase && !o.DryRun && o.Confirm != o.Targets[0].Key:
		return errors.New("the Key of the person must stand in Confirm, too")
	case len(o.Request) > maxRequest:
		return fmt.Errorf("the Request has %d bytes, more than %d", len(o.Request), maxRequest)
	}
	return o.by().Check()
}

// by is who acts and why, with the evidence.
func (o Order) by() By {
	if o.Evidence != "" {
		o.By.Reason += " (evidence: " + o.Evidence + ")"
	}
	return o.By
}

// refusal is the domain's reason to refuse, without the key and the name of a person who
// paused it.
func refusal(err error, a Action, t Target) string {
	if a == Pause && t.Kind == "" {
		return "it is paused already"
	}
	text := err.Error()
	return text[strings.LastIndex(text, ": ")+len(": "):]
}

// ErrOrder reports an invalid order. Nothing was done.
var ErrOrder = errors.New("invalid order")

var errTarget = errors.New("this action is not possible for this kind of target")
