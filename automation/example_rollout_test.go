package automation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// migration is a host that moves its certificates from an old job to Belfry: three
// of them are due on 1 April, as the old job knows.
func migration(ctx context.Context) (store *memory.Store, reminders *automation.Scheduler, tick func(time.Time), keys []string) {
	store, clk := open()
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println("Belfry sends:", m.Subject)
		return channel.Receipt{ID: "1"}, nil
	}))
	reminders = automation.New(store, out, nil)
	certificates := certificate
	certificates.Guarded = true
	reminders.Register(certificates)
	var expiring []automation.Candidate
	for _, id := range []string{"7", "8", "9"} {
		expiring = append(expiring, automation.Candidate{
			Type: "certificate", Source: automation.Source{Type: "employee", ID: id}, BusinessUnit: "dublin",
			TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30,
		})
	}
	made, err := reminders.Ensure(ctx, expiring...)
	if err != nil {
		panic(err)
	}
	for _, e := range made {
		keys = append(keys, e.Key)
	}
	poller := belfry.NewPoller(store, nil, reminders, out)
	tick = func(on time.Time) {
		clk.Set(on)
		if err := poller.Drain(ctx); err != nil {
			panic(err)
		}
	}
	return store, reminders, tick, keys
}

var (
	part = cutover.Part{Type: "certificate", BusinessUnit: "dublin"}
	by   = automation.By{Actor: "ann", Reason: "certificates of Dublin move to Belfry"}
	due  = time.Date(2026, 4, 1, 8, 0, 0, 0, time.UTC) // 09:00 in Dublin
)

// A part of the work moves from an old scheduler to Belfry, and back.
func ExampleRollout_MoveRollout() {
	ctx := context.Background()
	_, reminders, tick, _ := migration(ctx)
	move := func(to cutover.Stage, dryRun bool) {
		move, err := reminders.Rollout().MoveRollout(ctx, part, to, by, &automation.ActionOptions{DryRun: dryRun})
		fmt.Printf("to %v: taken %d, returned %d, left %d %v\n", to, move.Taken, move.Returned, move.Left, err)
	}
	move(cutover.StageShadow, false)
	move(cutover.StageRunNow, false)
	move(cutover.StageScheduled, true)
	move(cutover.StageScheduled, false)
	move(cutover.StageShadow, false) // second thoughts
	move(cutover.StageRunNow, false)
	move(cutover.StageScheduled, false)
	tick(due)
	move(cutover.StageCutOver, false)
	// Output:
	// to 1 Shadow: taken 0, returned 0, left 0 <nil>
	// to 2 RunNow: taken 0, returned 0, left 0 <nil>
	// to 3 Scheduled: taken 3, returned 0, left 0 <nil>
	// to 3 Scheduled: taken 3, returned 0, left 0 <nil>
	// to 1 Shadow: taken 0, returned 3, left 0 <nil>
	// to 2 RunNow: taken 0, returned 0, left 0 <nil>
	// to 3 Scheduled: taken 3, returned 0, left 0 <nil>
	// Belfry sends: Your certificate expires on 2026-05-01
	// Belfry sends: Your certificate expires on 2026-05-01
	// Belfry sends: Your certificate expires on 2026-05-01
	// to 4 CutOver: taken 0, returned 0, left 0 <nil>
}

// In shadow Belfry sends nothing, and tells how it differs from the old job.
func ExampleRollout_Compare() {
	ctx := context.Background()
	_, reminders, tick, keys := migration(ctx)
	part := cutover.Part{Type: "certificate", BusinessUnit: "dublin"}
	opts, since, ranOn := &automation.ActionOptions{DryRun: false}, due.Add(-24*time.Hour), due.Add(20*time.Minute)
	move, err := reminders.Rollout().MoveRollout(ctx, part, cutover.StageShadow, by, opts)
	fmt.Println(move.To, err)
	tick(due.Add(time.Hour))
	for _, key := range keys[:2] { // the old job forgot one
		report, err := reminders.Rollout().ReportOldRun(ctx, part, cutover.OldRun{Key: key, RanOn: ranOn})
		fmt.Println("recorded:", report.Recorded, err)
	}
	comparison, err := reminders.Rollout().Compare(ctx, part, cutover.Window{From: since}, 5*time.Minute)
	fmt.Println("both:", comparison.Both, "late:", comparison.Late, "same:", comparison.Same(), err)
	for _, run := range comparison.Runs {
		fmt.Println(run.Kind, run.Key)
	}
	// Output:
	// 1 Shadow <nil>
	// recorded: 1 <nil>
	// recorded: 1 <nil>
	// both: 2 late: 2 same: false <nil>
	// OnlyHere reminder:certificate:employee:9:default:2026-05-01:30
	// RanLate reminder:certificate:employee:7:default:2026-05-01:30
	// RanLate reminder:certificate:employee:8:default:2026-05-01:30
}

// The old job, in Go: it marks the run in the transaction that creates what it
// sends, and creates nothing if it is refused.
func ExampleRollout_DeliverForOldScheduler() {
	ctx := context.Background()
	store, reminders, _, keys := migration(ctx)
	coordinates := json.RawMessage(`{"mail":"m-1"}`)
	deliver := func(key string) error {
		return store.InTx(ctx, func(tx storage.Tx) error {
			guard := reminders.WithTx(tx)
			answers, err := guard.Rollout().DeliverForOldScheduler(ctx, "", cutover.OldRun{Key: key, Coordinates: coordinates})
			if err != nil || !answers[0].Granted {
				return errors.Join(err, errors.New("not ours"))
			}
			fmt.Println("the old job sends", key) // a row of its own outbox, in the same transaction
			return nil
		})
	}
	fmt.Println(deliver(keys[0]))
	for stage := cutover.StageShadow; stage <= cutover.StageScheduled; stage++ {
		if _, err := reminders.Rollout().MoveRollout(ctx, part, stage, by, nil); err != nil {
			panic(err)
		}
	}
	fmt.Println(deliver(keys[1]))
	owner, err := reminders.Rollout().Ownership(ctx, "", keys[1])
	fmt.Println(owner.Owner, owner.Status, owner.Version, err)
	// Output:
	// the old job sends reminder:certificate:employee:7:default:2026-05-01:30
	// <nil>
	// not ours
	// AutomationScheduler Owned 2 <nil>
}

// Before scheduled runs move, people pick single ones.
func ExampleRollout_TransferOwnership() {
	ctx := context.Background()
	_, reminders, tick, keys := migration(ctx)
	key := keys[0]
	for stage := cutover.StageShadow; stage <= cutover.StageRunNow; stage++ {
		if _, err := reminders.Rollout().MoveRollout(ctx, part, stage, by, nil); err != nil {
			panic(err)
		}
	}
	err := reminders.Rollout().TransferOwnership(ctx, "", key, cutover.AutomationScheduler, by)
	fmt.Println(err)
	tick(due)
	for _, key := range keys[:2] {
		owner, err := reminders.Rollout().Ownership(ctx, "", key)
		fmt.Println(owner.Owner, owner.Status, err)
	}
	// Output:
	// <nil>
	// Belfry sends: Your certificate expires on 2026-05-01
	// AutomationScheduler DeliveryCreated <nil>
	// OldScheduler Owned <nil>
}

// What to watch while a stage lasts.
func ExampleRollout_OwnershipConflicts() {
	ctx := context.Background()
	_, reminders, tick, _ := migration(ctx)
	opts := &automation.ActionOptions{DryRun: false}
	move, err := reminders.Rollout().MoveRollout(ctx, part, cutover.StageShadow, by, opts)
	fmt.Println(move.To, err)
	picked, err := reminders.Rollout().MoveRollout(ctx, part, cutover.StageRunNow, by, opts)
	fmt.Println(picked.To, err)
	taken, err := reminders.Rollout().MoveRollout(ctx, part, cutover.StageScheduled, by, opts)
	fmt.Println(taken.To, "taken:", taken.Taken, err)
	tick(due.Add(2 * time.Minute))
	conflicts, _, err := reminders.Rollout().OwnershipConflicts(ctx, "", storage.Page{})
	fmt.Println(len(conflicts), err)
	left, err := reminders.Rollout().MoveRollout(ctx, part, cutover.StageCutOver, by, opts)
	fmt.Println(left.To, "left:", left.Left, err)
	returned, err := reminders.Rollout().MoveRollout(ctx, part, cutover.StageShadow, by, opts)
	fmt.Println(returned.To, "returned:", returned.Returned, err)
	// Output:
	// 1 Shadow <nil>
	// 2 RunNow <nil>
	// 3 Scheduled taken: 3 <nil>
	// Belfry sends: Your certificate expires on 2026-05-01
	// Belfry sends: Your certificate expires on 2026-05-01
	// Belfry sends: Your certificate expires on 2026-05-01
	// 0 <nil>
	// 4 CutOver left: 0 <nil>
	// 1 Shadow returned: 0 <nil>
}

// The narrowest part counts.
func ExampleRollout_Rollouts() {
	ctx := context.Background()
	_, reminders, _, _ := migration(ctx)
	for _, p := range []cutover.Part{{Type: "certificate"}, part} {
		if _, err := reminders.Rollout().MoveRollout(ctx, p, cutover.StageShadow, by, nil); err != nil {
			panic(err)
		}
	}
	if _, err := reminders.Rollout().MoveRollout(ctx, part, cutover.StageRunNow, by, nil); err != nil {
		panic(err)
	}
	all, err := reminders.Rollout().Rollouts(ctx, "")
	for _, r := range all {
		fmt.Printf("%s %q: %v, moving: %v\n", r.Type, r.BusinessUnit, r.Stage, r.Moving)
	}
	fmt.Println(err)
	// Output:
	// certificate "": 1 Shadow, moving: false
	// certificate "dublin": 2 RunNow, moving: false
	// <nil>
}

// A host's own type comes under the guard as well.
func ExampleScheduler_Handle_guarded() {
	ctx := context.Background()
	store, _ := open()
	work := automation.New(store, notify.New(store, nil), nil)
	export := automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
		return make([]automation.Outcome, len(due)), nil
	})
	work.Handle(automation.WorkType{Name: "export", Handler: export, Guarded: true})
	got, err := work.Ensure(ctx, automation.Candidate{
		AutomationType: "export", Source: automation.Source{Type: "file", ID: "1"}, ScheduledOn: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC),
	})
	fmt.Println(got[0].Status, err)
	// Output: Deactivated <nil>
}

// oldTable is what a host with a cron job has: a date for each employee, and a
// sent_at column for each offset.
type oldTable struct {
	expires map[string]automation.Date
	sentAt  map[string]bool // "employee/days"
}

var daysBefore = []int{30, 7}

func (o oldTable) EventTypes() []string { return []string{"certificate-changed"} }

func (o oldTable) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return automation.Each(of, func(r automation.Request) (a automation.Answer, err error) {
		for _, days := range daysBefore {
			a.Candidates = append(a.Candidates, automation.Candidate{TargetDate: o.expires[r.Source.ID], DaysBefore: days})
		}
		return a, nil
	})
}

// read is a query in earnest; here one page holds all.
func (o oldTable) read(_ context.Context, r automation.ScanRequest) (automation.ScanPage, error) {
	page := automation.ScanPage{Done: true}
	for _, id := range []string{"7", "8", "9"} {
		for _, days := range daysBefore {
			if due := o.expires[id].AddDays(-days); !due.Before(r.From) && !due.After(r.To) {
				page.Sources = append(page.Sources, automation.ScannedSource{Source: automation.Source{Type: "employee", ID: id}, Version: 1})
				break
			}
		}
	}
	return page, nil
}

// Validate is the guard: what the old job has sent is not sent again.
func (o oldTable) Validate(_ context.Context, d automation.Due) (automation.Validity, error) {
	if o.sentAt[fmt.Sprintf("%s/%d", d.Source.ID, d.DaysBefore)] {
		return automation.NoLongerValid("SentByOldJob"), nil
	}
	return automation.StillValid(), nil
}

// From a cron job and a sent_at column to Belfry: look, import, cut over.
func Example_movingOver() {
	ctx := context.Background()
	store, clk := open()
	old := oldTable{
		expires: map[string]automation.Date{
			"7": {Year: 2026, Month: 3, Day: 31}, // 30 days before: today
			"8": {Year: 2026, Month: 6, Day: 1},
			"9": {Year: 2026, Month: 3, Day: 8}, // 7 days before: today
		},
		sentAt: map[string]bool{"9/30": true},
	}
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println("sent:", m.Subject)
		return channel.Receipt{ID: "1"}, nil
	}))
	reminders := automation.New(store, out, &automation.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	t := certificate
	t.Template.Subject = "Your certificate, {{.Source.ID}}, expires on {{.TargetDate}}"
	t.Triggers, t.Validator = old, old
	t.Scan = &automation.Scan{Read: old.read, SourceType: "employee", Window: 90, Scopes: []automation.Scope{""}}
	reminders.Register(t)
	poller := belfry.NewPoller(store, nil, reminders, out)
	by := automation.By{Actor: "sam", Reason: "the cron job still sends"}
	all := automation.Extent{Everywhere: true, Type: "certificate"}

	// Nothing begins before this pause is over, whichever process has it.
	err := reminders.Support().Pause(ctx, all, time.Time{}, by)
	fmt.Println(err)

	// What would there be? Nothing is written.
	report, err := reminders.Maintenance().Reconcile(ctx, "", "certificate", &automation.ReconcileOptions{DryRun: true, FromStart: true})
	for _, d := range report.Differences {
		fmt.Println(d.Kind, d.Key)
	}
	fmt.Println("passed:", report.OffsetPassed, err)

	// The import.
	report, err = reminders.Maintenance().Reconcile(ctx, "", "certificate", &automation.ReconcileOptions{FromStart: true})
	fmt.Println("created:", report.Created, err)

	// 1 March, 09:30: the cron job has sent one of today's two, and is stopped.
	clk.Set(time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC))
	fmt.Println("paused:", poller.Drain(ctx))
	old.sentAt["9/7"] = true

	by.Reason = "the cron job is stopped"
	err = reminders.Support().Resume(ctx, all, by)
	fmt.Println(err)
	for range 2 {
		fmt.Println("drained:", poller.Drain(ctx))
	}
	story, err := reminders.Explain(ctx, "", "reminder:certificate:employee:9:default:2026-03-08:7")
	fmt.Println(story.Schedule.Status, story.Schedule.ReasonCode, err)
	// Output:
	// <nil>
	// WouldCreate reminder:certificate:employee:7:default:2026-03-31:30
	// WouldCreate reminder:certificate:employee:7:default:2026-03-31:7
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:30
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:7
	// WouldCreate reminder:certificate:employee:9:default:2026-03-08:7
	// passed: 1 <nil>
	// created: 5 <nil>
	// paused: <nil>
	// <nil>
	// sent: Your certificate, 7, expires on 2026-03-31
	// drained: <nil>
	// drained: <nil>
	// Deactivated SentByOldJob <nil>
}
