package support

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// Action is what a support desk does.
type Action string

// The actions. Each does what the method of that name of its domain does, and is audited
// there.
const (
	Release Action = "Release" // ends a hold
	Retry   Action = "Retry"   // tries again what failed
	Cancel  Action = "Cancel"  // stops it for good
	Resolve Action = "Resolve" // settles a doubt; see Order.Decision
	Pause   Action = "Pause"   // keeps work from being begun
	Resume  Action = "Resume"  // ends a pause
)

// Actions are all of them.
func Actions() []Action { return []Action{Release, Retry, Cancel, Resolve, Pause, Resume} }

// Target is what an action is about: a row by Kind and Key, as an [Entry] has them, or, of
// Pause and Resume, a part of the work.
type Target struct {
	Kind Kind
	Key  string
	// Part is what is paused or resumed.
	Part Part
}

// Part is work that a pause concerns: a type or, of package notify, a channel; all of the
// domain without either. It is that of the scope of the call unless Everywhere.
type Part struct {
	Domain        string // "automation" or "notify"
	Type, Channel string
	Everywhere    bool
}

// Order is an action on one target or many.
type Order struct {
	Action  Action
	Targets []Target // 1 to MaxTargets
	// Decision is that of Resolve: whether the message in doubt counts as sent, or is sent
	// again.
	Decision notify.Decision
	Until    time.Time // the end of a Pause; zero: somebody resumes it
	By       By
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
}

// errDry ends the transaction of a dry run.
var errDry = errors.New("dry run")

// Act does what an order says to each of its targets, each in a transaction of its own
// with its audit, and answers in their order. One that is refused or not there does not
// stop the others. A dry run does the same and takes it back. An order that makes no sense is
// an error before anything is done; after an error of the database the targets that are
// answered for are done, and it is safe to repeat.
func (d *Desk) Act(ctx context.Context, scope Scope, o Order) ([]Acted, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("support: Act: %w: %w", ErrOrder, err)
	}
	deeds := make([]deed, len(o.Targets))
	for i, t := range o.Targets {
		var err error
		if deeds[i], err = d.deed(scope, o, t); err != nil {
			return nil, fmt.Errorf("support: Act: %w: target %d: %w", ErrOrder, i+1, err)
		}
	}
	out := make([]Acted, len(o.Targets))
	for i, t := range o.Targets {
		out[i].Target = t
		err := d.o.Store.InTx(ctx, func(tx storage.Tx) error {
			if err := deeds[i](ctx, tx); err != nil || !o.DryRun {
				return err
			}
			return errDry
		})
		switch {
		case err == nil || errors.Is(err, errDry):
			out[i].Done = true
		case errors.Is(err, automation.ErrActionRefused):
			out[i].Refused = refusal(err, o.Action)
		case errors.Is(err, storage.ErrNotFound):
			out[i].NotFound = true
		default:
			return out[:i], fmt.Errorf("support: Act: %w", err)
		}
	}
	return out, nil
}

func (o Order) check() error {
	switch {
	case !slices.Contains(Actions(), o.Action):
		return fmt.Errorf("%.40q is no action", string(o.Action))
	case len(o.Targets) == 0 || len(o.Targets) > MaxTargets:
		return fmt.Errorf("%d targets, not 1 to %d", len(o.Targets), MaxTargets)
	case o.Action == Resolve && o.Decision != notify.DecideSent && o.Decision != notify.DecideSendAgain:
		return fmt.Errorf("%.40q is no decision", string(o.Decision))
	}
	return o.By.Check()
}

// refusal is why a domain refused, without the key and who has paused it.
func refusal(err error, a Action) string {
	text := err.Error()
	if a == Pause {
		return "it is paused already"
	}
	return text[strings.LastIndex(text, ": ")+len(": "):]
}

// ErrOrder says that an order makes no sense; nothing was done.
var ErrOrder = errors.New("no order")

var errTarget = errors.New("the action is not one for this kind of target")

// deed is done to a target in a transaction.
type deed func(context.Context, storage.Tx) error

// deed is what an order does to a target.
func (d *Desk) deed(scope Scope, o Order, t Target) (deed, error) {
	if o.Action == Pause || o.Action == Resume {
		return d.pausing(scope, o, t.Part)
	}
	switch {
	case t.Key == "":
		return nil, errors.New("no Key")
	case t.Kind == KindReminder && d.o.Automation != nil:
		return d.ofReminder(scope, o, t.Key)
	case t.Kind == KindLink && d.o.Survey != nil:
		return d.ofLink(scope, o, t.Key)
	case d.o.Notify != nil:
		return d.ofMessage(scope, o, t)
	}
	return nil, errTarget
}

func (d *Desk) ofReminder(scope Scope, o Order, key string) (deed, error) {
	act := map[Action]func(automation.Support, context.Context, Scope, string, By) error{
		Release: automation.Support.Release, Retry: automation.Support.Retry, Cancel: automation.Support.Cancel,
	}[o.Action]
	if act == nil {
		return nil, errTarget
	}
	return func(ctx context.Context, tx storage.Tx) error {
		return act(d.o.Automation.WithTx(tx).Support(), ctx, scope, key, o.By)
	}, nil
}

func (d *Desk) ofLink(scope Scope, o Order, publicID string) (deed, error) {
	acts := map[Action]func(survey.Support, context.Context, Scope, string, By) error{
		Release: survey.Support.Release, Retry: survey.Support.Retry, Cancel: survey.Support.Cancel,
		Resolve: survey.Support.Release, // takes the send for made
	}
	if o.Decision == notify.DecideSendAgain {
		acts[Resolve] = survey.Support.Retry
	}
	act := acts[o.Action]
	if act == nil {
		return nil, errTarget
	}
	return func(ctx context.Context, tx storage.Tx) error {
		bound := d.o.Survey.WithTx(tx).Support()
		if o.Action == Resolve {
			i, _, err := bound.Instance(ctx, scope, publicID)
			if err != nil {
				return err
			}
			if !i.InDoubt {
				return fmt.Errorf("%w: Resolve of %s: it is not in doubt", survey.ErrActionRefused, publicID)
			}
		}
		return act(bound, ctx, scope, publicID, o.By)
	}, nil
}

var artifacts = map[Kind]notify.Artifact{
	KindMessage: notify.ArtifactOutgoingMessage, KindJob: notify.ArtifactNotificationJob,
	KindSchedule: notify.ArtifactNotificationScheduler, KindCampaign: notify.ArtifactMessagingJob,
}

func (d *Desk) ofMessage(scope Scope, o Order, t Target) (deed, error) {
	artifact, known := artifacts[t.Kind]
	if !known || t.Kind != KindMessage && (o.Action == Retry || o.Action == Resolve) || t.Kind == KindCampaign && o.Action == Cancel {
		return nil, errTarget
	}
	return func(ctx context.Context, tx storage.Tx) error {
		s := d.o.Notify.WithTx(tx).Support()
		switch o.Action {
		case Release:
			return s.Release(ctx, scope, artifact, t.Key, o.By)
		case Cancel:
			return s.Cancel(ctx, scope, artifact, t.Key, o.By)
		case Retry:
			_, err := s.Retry(ctx, scope, t.Key, o.By)
			return err
		}
		return s.Resolve(ctx, scope, t.Key, o.Decision, o.By)
	}, nil
}

// pausing begins or ends a pause.
func (d *Desk) pausing(scope Scope, o Order, p Part) (deed, error) {
	if p.Everywhere {
		scope = ""
	}
	switch {
	case p.Domain == "automation" && d.o.Automation != nil && p.Channel == "":
		of := automation.Extent{Scope: scope, Everywhere: p.Everywhere, Type: p.Type}
		return func(ctx context.Context, tx storage.Tx) error {
			s := d.o.Automation.WithTx(tx).Support()
			if o.Action == Resume {
				return s.Resume(ctx, of, o.By)
			}
			return s.Pause(ctx, of, o.Until, o.By)
		}, nil
	case p.Domain == "notify" && d.o.Notify != nil && (p.Type == "" || p.Channel == ""):
		of := notify.Extent{Scope: scope, Everywhere: p.Everywhere, Type: p.Type, Channel: p.Channel}
		return func(ctx context.Context, tx storage.Tx) error {
			s := d.o.Notify.WithTx(tx).Support()
			if o.Action == Resume {
				return s.Resume(ctx, of, o.By)
			}
			return s.Pause(ctx, of, o.Until, o.By)
		}, nil
	}
	return nil, errTarget
}
