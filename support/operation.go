package support

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// operation acts on a target in a transaction and returns its effect.
type operation func(context.Context, storage.Tx) (effect, error)

// effect describes an operation: in words, the number of messages that it certainly
// sends, and the id of the message that it made.
type effect struct {
	text    string
	sends   int
	message string
}

// sends is the effect of sending one message at once.
func sends(text string) effect { return effect{text: text, sends: 1} }

func says(text string) effect { return effect{text: text} }

// planner turns orders into operations.
type planner struct{ *core }

// take is what an action does to a row of a kind.
type take func(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (effect, error)

// takes lists the actions for rows of each kind.
var takes = map[Kind]map[Action]take{
	KindReminder: {
		Release: reminding(automation.Support.Release), Retry: reminding(automation.Support.Retry), Cancel: reminding(automation.Support.Cancel),
		Rerun: rerun,
	},
	KindLink: {
		Release: linking(survey.Support.Release, says("its messages continue as planned; overdue ones go out at once")),
		Retry:   linking(survey.Support.Retry, sends("sends 1 message")),
		Rerun:   linking(survey.Support.Rerun, sends("sends 1 message")),
		Cancel:  linking(survey.Support.Cancel, says("sends nothing more")),
		Resolve: settle,
	},
	KindResponse: {Take: takeOver, Handle: linking(survey.Support.Handle, says("leaves the list; what you write stays with it"))},
	KindMessage: {
		Release: releasing(notify.ArtifactOutgoingMessage, sends("sends 1 message, if its gates let it through")),
		Cancel:  cancelling(notify.ArtifactOutgoingMessage, says("sends nothing")),
		Retry:   again, Resolve: resolve, SendTo: sendTo,
	},
	KindJob: {
		Release: releasing(notify.ArtifactNotificationJob, says("makes its messages, and sends them")),
		Cancel:  cancelling(notify.ArtifactNotificationJob, says("makes no messages")),
	},
	KindSchedule: {
		Release: releasing(notify.ArtifactNotificationScheduler, says("its job goes on, and its messages are sent")),
		Cancel:  cancelling(notify.ArtifactNotificationScheduler, says("makes no messages")),
	},
	KindCampaign: {
		Release: releasing(notify.ArtifactMessagingJob, says("continues with the recipients who have not got it yet")),
		Pause:   campaign(notify.Campaigns.Pause, says("makes no more messages until a person resumes it")),
		Resume:  campaign(notify.Campaigns.Resume, says("continues with the recipients who have not got it yet")),
		Cancel:  campaign(notify.Campaigns.Cancel, says("makes no more messages, and waiting ones are not sent")),
	},
	KindReport: {
		RunNow: runNow,
		Pause:  subscription((*report.Service).Pause, says("is not sent until a person resumes it")),
		Resume: subscription((*report.Service).Resume, says("is sent again from its next time on")),
	},
	KindPerson:  {Stop: stopping, Allow: allowing, Erase: nil}, // Erase uses transactions of its own
	KindAddress: {Unblock: unblocking},
}

// serves reports whether the desk has the domain of a kind.
func (d planner) serves(k Kind) bool {
	switch k {
	case KindReminder:
		return d.o.Automation != nil
	case KindLink, KindResponse:
		return d.o.Survey != nil
	case KindReport:
		return d.o.Reports != nil
	}
	return d.o.Notify != nil
}

// operation returns the operation of an order on a target.
func (d planner) operation(scope Scope, o Order, t Target) (operation, error) {
	if t.Kind == "" {
		return d.ofPart(scope, o, t.Part)
	}
	do, known := takes[t.Kind][o.Action]
	switch {
	case !known || o.Action == Erase && d.o.Privacy == nil || o.Action != Erase && !d.serves(t.Kind):
		return nil, errTarget
	case t.Key == "":
		return nil, errors.New("no Key")
	case t.Part != Part{}:
		return nil, errors.New("a row and a Part")
	case o.Action == Erase:
		return d.erasing(scope, o, t.Key)
	}
	o.By = o.by()
	return func(ctx context.Context, tx storage.Tx) (effect, error) { return do(ctx, d, tx, scope, o, t.Key) }, nil
}

func reminding(do func(automation.Support, context.Context, Scope, string, By) error) take {
	return func(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (effect, error) {
		bound := d.o.Automation.WithTx(tx)
		if err := do(bound.Support(), ctx, scope, key, o.By); err != nil || !o.DryRun {
			return effect{}, err
		}
		e, err := bound.Explain(ctx, scope, key)
		if err != nil || e.Schedule == nil {
			return effect{}, err
		}
		row := e.Schedule
		switch {
		case row.Status == automation.StatusCancelled:
			return says("sends nothing"), nil
		case row.Status == automation.StatusPending && row.DueOn.After(d.now()):
			return says("comes on " + moment(row.DueOn)), nil
		case row.Status == automation.StatusPending:
			return says("is sent at once, to the recipients that the program names at that time"), nil
		}
		return says("goes on as it is: " + row.Status), nil
	}
}

func rerun(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (effect, error) {
	got, err := d.o.Automation.WithTx(tx).Support().Rerun(ctx, scope, key, o.By)
	if err == nil && got.Outcome != storage.Created {
		return effect{}, fmt.Errorf("%w: Rerun: it has already been done once more", automation.ErrActionRefused)
	}
	return says("is sent once more, at once, to the recipients that the program names at that time"), err
}

func linking(do func(survey.Support, context.Context, Scope, string, By) error, what effect) take {
	return func(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, publicID string) (effect, error) {
		return what, do(d.o.Survey.WithTx(tx).Support(), ctx, scope, publicID, o.By)
	}
}

// settle decides a link of unknown outcome: Release counts it as sent, Retry sends it
// again.
func settle(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, publicID string) (effect, error) {
	bound := d.o.Survey.WithTx(tx).Support()
	i, _, err := bound.Instance(ctx, scope, publicID)
	switch {
	case err != nil:
		return effect{}, err
	case !i.InDoubt:
		return effect{}, fmt.Errorf("%w: Resolve of %s: its outcome is not unknown", survey.ErrActionRefused, publicID)
	case o.Decision == notify.DecideSendAgain:
		return sends("sends 1 message"), bound.Retry(ctx, scope, publicID, o.By)
	}
	return says("sends nothing"), bound.Release(ctx, scope, publicID, o.By)
}

func releasing(a notify.Artifact, what effect) take {
	return func(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (effect, error) {
		return what, d.o.Notify.WithTx(tx).Support().Release(ctx, scope, a, key, o.By)
	}
}

func cancelling(a notify.Artifact, what effect) take {
	return func(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (effect, error) {
		return what, d.o.Notify.WithTx(tx).Support().Cancel(ctx, scope, a, key, o.By)
	}
}

func campaign(do func(notify.Campaigns, context.Context, Scope, string, By) error, what effect) take {
	return func(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, guid string) (effect, error) {
		return what, do(d.o.Notify.WithTx(tx).Campaigns(), ctx, scope, guid, o.By)
	}
}

func again(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (effect, error) {
	got, err := d.o.Notify.WithTx(tx).Support().Retry(ctx, scope, key, o.By)
	if got.Refusal != "" {
		return says("sends nothing: " + got.Refusal), err
	}
	return sends("sends 1 message, if its gates let it through"), err
}

func resolve(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, key string) (effect, error) {
	what := says("sends nothing")
	if o.Decision == notify.DecideSendAgain {
		what = sends("sends 1 message")
	}
	return what, d.o.Notify.WithTx(tx).Support().Resolve(ctx, scope, key, o.Decision, o.By)
}

func subscription(do func(*report.Service, context.Context, Scope, string, By) error, what effect) take {
	return func(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, guid string) (effect, error) {
		return what, do(d.o.Reports.WithTx(tx), ctx, scope, guid, o.By)
	}
}

func runNow(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, guid string) (effect, error) {
	_, err := d.o.Reports.WithTx(tx).RunNow(ctx, scope, guid, "", o.By)
	return says("builds it, and sends it to its recipients"), err
}

// ofPart returns the operation of an order on a part of the work.
func (d planner) ofPart(scope Scope, o Order, p Part) (operation, error) {
	o.By = o.by()
	only := p
	switch o.Action {
	case Pause, Resume:
		if only != (Part{Domain: p.Domain, Type: p.Type, Channel: p.Channel, Everywhere: p.Everywhere}) {
			return nil, errTarget
		}
		return d.pausing(scope, o, p)
	case Resolve:
		only.Channel, only.OwnAccount, only.Everywhere, only.From, only.Until = "", false, false, time.Time{}, time.Time{}
		if d.o.Notify == nil || only != (Part{Domain: "notify"}) {
			return nil, errTarget
		}
		return d.ofOutage(scope, o, p)
	case Replan:
		only.Type, only.Setting = "", ""
		if d.o.Automation == nil || only != (Part{Domain: "automation"}) {
			return nil, errTarget
		}
		return d.replanning(automation.Replan{Scope: scope, Type: p.Type, Setting: p.Setting}, o), nil
	case Replay:
		only.Domain, only.Subscriber = "", ""
		if p.Subscriber == "" || only != (Part{}) {
			return nil, errTarget
		}
		return d.replaying(scope, o, p)
	}
	return nil, errTarget
}

func (d planner) replanning(what automation.Replan, o Order) operation {
	return func(ctx context.Context, tx storage.Tx) (effect, error) {
		bound := d.o.Automation.WithTx(tx)
		if !o.DryRun {
			return effect{}, bound.Support().Replan(ctx, what, o.By)
		}
		r, err := bound.Maintenance().PreviewReplan(ctx, what)
		if err != nil {
			return effect{}, err
		}
		text := fmt.Sprintf("checks %d sources: adds %d reminders, changes %d, brings back %d, ends %d", r.Scanned, r.Created, r.Updated, r.Reactivated, r.Deactivated)
		if r.More {
			text += ", and then checks further sources"
		}
		return says(text), bound.Support().Replan(ctx, what, o.By)
	}
}

func (d planner) replaying(scope Scope, o Order, p Part) (operation, error) {
	var replay func(tx storage.Tx) func(context.Context, Scope, string, By, *automation.ActionOptions) (int, error)
	switch {
	case p.Domain == "notify" && d.o.Notify != nil:
		replay = func(tx storage.Tx) func(context.Context, Scope, string, By, *automation.ActionOptions) (int, error) {
			return d.o.Notify.WithTx(tx).Support().ReplayDeadLetters
		}
	case p.Domain == "survey" && d.o.Survey != nil:
		replay = func(tx storage.Tx) func(context.Context, Scope, string, By, *automation.ActionOptions) (int, error) {
			return d.o.Survey.WithTx(tx).Support().ReplayDeadLetters
		}
	default:
		return nil, errTarget
	}
	return func(ctx context.Context, tx storage.Tx) (effect, error) {
		n, err := replay(tx)(ctx, scope, p.Subscriber, o.By, nil)
		if err == nil && n == 0 {
			return effect{}, fmt.Errorf("%w: Replay: the subscriber has no dead letters", automation.ErrActionRefused)
		}
		return says(fmt.Sprintf("calls %s again for %d events", p.Subscriber, n)), err
	}, nil
}

// pausing starts or ends a pause.
func (d planner) pausing(scope Scope, o Order, p Part) (operation, error) {
	if p.Everywhere {
		scope = ""
	}
	what := says("no new work begins; work that has begun is finished")
	if o.Action == Resume {
		what = says("work continues, and what waited goes out")
	}
	switch {
	case p.Domain == "automation" && d.o.Automation != nil && p.Channel == "":
		of := automation.Extent{Scope: scope, Everywhere: p.Everywhere, Type: p.Type}
		return func(ctx context.Context, tx storage.Tx) (effect, error) {
			s := d.o.Automation.WithTx(tx).Support()
			if o.Action == Resume {
				return what, s.Resume(ctx, of, o.By)
			}
			return what, s.Pause(ctx, of, o.Until, o.By)
		}, nil
	case p.Domain == "notify" && d.o.Notify != nil && (p.Type == "" || p.Channel == ""):
		of := notify.Extent{Scope: scope, Everywhere: p.Everywhere, Type: p.Type, Channel: p.Channel}
		return func(ctx context.Context, tx storage.Tx) (effect, error) {
			s := d.o.Notify.WithTx(tx).Support()
			if o.Action == Resume {
				return what, s.Resume(ctx, of, o.By)
			}
			return what, s.Pause(ctx, of, o.Until, o.By)
		}, nil
	}
	return nil, errTarget
}

// Privacy erases people. belfry.Privacy implements it.
type Privacy interface {
	Preview(ctx context.Context, scope Scope, who sweep.Person) (sweep.Report, error)
	Erase(ctx context.Context, scope Scope, who sweep.Person, by By) (sweep.Report, error)
}

// erasing removes what is stored about a person, page by page, in transactions of its
// own. It is safe to repeat.
func (d planner) erasing(scope Scope, o Order, ref string) (operation, error) {
	who := sweep.Person{Ref: ref}
	for _, a := range o.Addresses {
		who.Addresses = append(who.Addresses, sweep.Address{Method: a.Method, Address: a.Address})
	}
	if err := who.Check(); err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ storage.Tx) (effect, error) {
		var r sweep.Report
		var err error
		if o.DryRun {
			r, err = d.o.Privacy.Preview(ctx, scope, who)
		} else {
			r, err = d.o.Privacy.Erase(ctx, scope, who, o.by())
		}
		if hook := (*sweep.HookError)(nil); errors.As(err, &hook) {
			return effect{}, errors.New(hook.Error()) // its text may be personal
		}
		return says(erased(r)), err
	}, nil
}

// erased describes the effect of an erasure.
func erased(r sweep.Report) string {
	var parts []string
	for _, table := range slices.Sorted(maps.Keys(r.Tables)) {
		c := r.Tables[table]
		if n := c.Deleted + c.Emptied + c.Cut; n > 0 {
			parts = append(parts, counted(n, table))
		}
	}
	text := "finds nothing about the person; later messages to them are not sent"
	if len(parts) > 0 {
		text = "erases the person from " + strings.Join(parts, ", ") + "; later messages to them are not sent"
	}
	if r.Waiting > 0 {
		text += fmt.Sprintf("; %d rows are being worked on and are erased an hour later", r.Waiting)
	}
	return text
}
