package report_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// The branches of a firm, and where their clocks are.
var branches = map[string]string{
	"dublin":  "Europe/Dublin",    // the clocks change on 29 March
	"newyork": "America/New_York", // on 8 March
	"riyadh":  "Asia/Riyadh",      // never
	"sydney":  "Australia/Sydney", // on 5 April
}

// paper is what each branch gets.
type paper struct {
	name    string
	weekday time.Weekday
	hour    int
}

var papers = []paper{{"sales", time.Monday, 9}, {"stock", time.Thursday, 17}}

// job is a line of the old scheduler's crontab.
type job struct {
	paper
	unit, zone string
}

func (j job) guid() string { return j.unit + "-" + j.name }

func (j job) due(t *testing.T, now time.Time) bool {
	local := now.In(zone(t, j.zone))
	return local.Weekday() == j.weekday && local.Hour() == j.hour && local.Minute() == 0
}

func (j job) run(t *testing.T, on time.Time) (key, subject string) {
	t.Helper()
	key, err := keys.ReportRun{Subscription: j.guid(), On: on}.Key()
	if err != nil {
		t.Fatal(err)
	}
	return key, j.guid() + " of " + on.In(zone(t, branches[j.unit])).Format(time.DateOnly)
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// What the old scheduler has learned.
const (
	silent = iota // it knows of nobody, and its log is read
	tells         // it marks its runs in the guard, whatever that answers
	asks          // and creates nothing for a run that is not granted
)

// firm moves its reports from an old scheduler to this side.
type firm struct {
	*world
	jobs      []job
	knows     int
	off, down bool // the old scheduler, and this side
	log       map[string]cutover.OldRun

	stages             map[string]string // of the branches
	wanted             map[string]string // the stage in which a report was wanted, by its subject
	by                 map[string][]string
	refused, conflicts map[string]int // by stage
	contested          map[string]bool
	hours              int
}

// move makes a move as its dry run foretells it.
func (f *firm) move(unit string, to cutover.Stage) cutover.Move {
	f.Helper()
	planned, err := f.work.Rollout().MoveRollout(f.ctx, part(unit), to, automation.By(support), &automation.ActionOptions{DryRun: true})
	f.must(err)
	done, err := f.work.Rollout().MoveRollout(f.ctx, part(unit), to, automation.By(support), nil)
	f.must(err)
	if planned.Taken != done.Taken || planned.Returned != done.Returned || planned.Left != done.Left {
		f.Errorf("the dry run foretold %+v, the move did %+v", planned, done)
	}
	f.look()
	return done
}

func part(unit string) cutover.Part {
	return cutover.Part{Type: "sales", BusinessUnit: unit}
}

// moveAll moves each part that has a stage.
func (f *firm) moveAll(to cutover.Stage) {
	f.Helper()
	parts, err := f.work.Rollout().Rollouts(f.ctx, "")
	f.must(err)
	for _, p := range parts {
		f.move(p.BusinessUnit, to)
	}
}

// look reads how far each branch is.
func (f *firm) look() {
	f.Helper()
	parts, err := f.work.Rollout().Rollouts(f.ctx, "")
	f.must(err)
	known := map[string]cutover.Stage{}
	for _, p := range parts {
		known[p.BusinessUnit] = p.Stage
	}
	for unit := range branches {
		stage, own := known[unit]
		if !own {
			stage = known[""]
		}
		f.stages[unit] = stage.String()
	}
}

// compare counts what is on both sides, only here, and only there.
func (f *firm) compare(unit string, since time.Time) [3]int {
	f.Helper()
	c, err := f.work.Rollout().Compare(f.ctx, part(unit), cutover.Window{From: since}, 0)
	f.must(err)
	if c.Late+c.Early > 0 || c.Capped {
		f.Errorf("%+v", c)
	}
	return [3]int{min(c.Both, 1), c.OnlyHere, c.OnlyThere}
}

var same = [3]int{1, 0, 0}

func (f *firm) is(what string, got, want any) {
	f.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("%s on %v: %s", what, f.clk.Now(), diff)
	}
}

// until lets the hours pass in which a report is wanted, and those beside them.
// Who comes first changes from hour to hour.
func (f *firm) until(m time.Month, day, hour int) {
	f.Helper()
	end := at(m, day, hour, 0)
	for now := f.clk.Now(); now.Before(end); now = now.Add(time.Hour) {
		busy := false
		for _, j := range f.jobs {
			j.zone = branches[j.unit]
			busy = busy || j.due(f.T, now.Add(-time.Hour)) || j.due(f.T, now.Add(time.Hour))
			if j.due(f.T, now) {
				_, subject := j.run(f.T, now)
				busy, f.wanted[subject] = true, f.stages[j.unit]
			}
		}
		if !busy {
			continue
		}
		f.clk.Set(now)
		sides := []func(){f.cron, f.belfry}
		f.hours++
		sides[f.hours%2]()
		sides[1-f.hours%2]()
	}
	f.clk.Set(end)
}

// cron starts the old scheduler's jobs of this hour; what it misses is gone.
func (f *firm) cron() {
	for _, j := range f.jobs {
		if !f.off && j.due(f.T, f.clk.Now()) {
			f.deliver(j, f.clk.Now(), f.knows)
		}
	}
}

// deliver sends a report as the old scheduler does, the guard in one transaction
// with its outbox.
func (f *firm) deliver(j job, on time.Time, knows int) {
	f.Helper()
	key, subject := j.run(f.T, on)
	run := cutover.OldRun{Key: key, Type: "sales", Coordinates: json.RawMessage(`{"outbox":"` + key + `"}`), RanOn: f.clk.Now()}
	granted := true
	f.must(f.store.InTx(f.ctx, func(tx storage.Tx) error {
		if knows == silent {
			return nil
		}
		answers, err := f.work.WithTx(tx).Rollout().DeliverForOldScheduler(f.ctx, "", run)
		granted = err == nil && (answers[0].Granted || knows == tells)
		return err
	}))
	if !granted {
		f.refused[f.stages[j.unit]]++
		return
	}
	f.by[subject] = append(f.by[subject], "old")
	f.log[key] = cutover.OldRun{Key: key, RanOn: f.clk.Now()} // it does not say where
}

// belfry does what is due on this side, and notes new conflicts.
func (f *firm) belfry() {
	f.Helper()
	if f.down {
		return
	}
	for _, m := range f.pollAt(time.Time{}) {
		f.by[m.Subject] = append(f.by[m.Subject], "new")
	}
	for _, c := range f.contests() {
		if !f.contested[c.Key] {
			f.contested[c.Key] = true
			f.conflicts[f.stages[c.Ownership.BusinessUnit]]++
		}
	}
}

func (f *firm) contests() []cutover.ContestedRun {
	f.Helper()
	got, _, err := f.work.Rollout().OwnershipConflicts(f.ctx, "", storage.Page{})
	f.must(err)
	return got
}

// readLog tells of what is in the old scheduler's log.
func (f *firm) readLog() (trespassed, doubled int) {
	f.Helper()
	for _, run := range f.log {
		got, err := f.work.Rollout().ReportOldRun(f.ctx, part(""), run)
		f.must(err)
		trespassed, doubled = trespassed+len(got.Trespassed), doubled+len(got.Doubled)
	}
	return trespassed, doubled
}

// healthy looks at what operators watch: nothing is on hold but for a conflict, or since
// support has cancelled it.
func (f *firm) healthy() {
	f.Helper()
	got, err := f.work.Health(f.ctx, storage.Everywhere())
	f.must(err)
	for _, h := range got.Holds {
		if h.Reason != reasons.OwnershipConflict && h.Reason != reasons.CancelledBySupport {
			f.Errorf("%+v", h)
		}
	}
}

// table has the reports by the stage that their branch had at their moment.
func (f *firm) table() (lines []string) {
	type row struct{ reports, old, new, doubled, missed int }
	rows := map[string]row{}
	for subject, stage := range f.wanted {
		r := rows[stage]
		r.reports++
		for _, side := range f.by[subject] {
			if side == "old" {
				r.old++
			} else {
				r.new++
			}
		}
		r.doubled += max(0, len(f.by[subject])-1)
		r.missed += max(0, 1-len(f.by[subject]))
		rows[stage] = r
	}
	for subject := range f.by {
		if f.wanted[subject] == "" {
			lines = append(lines, "unwanted: "+subject)
		}
	}
	for _, stage := range slices.Sorted(maps.Keys(rows)) {
		r := rows[stage]
		lines = append(lines, fmt.Sprintf("%s: %d reports, %d by old, %d by new, %d refused, %d conflicts, %d doubled, %d missed",
			stage, r.reports, r.old, r.new, f.refused[stage], f.conflicts[stage], r.doubled, r.missed))
	}
	return lines
}

// Eight reports in four zones move from an old scheduler through every stage and one
// step back, in eleven weeks, while clocks change, this side is down for a while and
// a forgotten copy of the old scheduler sends without asking. None is doubled or
// missed.
func TestI22_ReportsMoveThroughAllStagesAndNoneIsDoubledOrMissed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		clk.Set(at(2, 22, 6, 0))
		f := &firm{
			log: map[string]cutover.OldRun{}, stages: map[string]string{}, wanted: map[string]string{}, by: map[string][]string{},
			refused: map[string]int{}, conflicts: map[string]int{}, contested: map[string]bool{},
		}
		f.world = newWorld(t, store, clk, func(sales *report.Type) {
			sales.Guarded = true
			sales.Template = notify.Template{Subject: "{{.Report.Name}} of {{.Report.LocalDate}}{{if .Report.Manual}}, asked for{{end}}"}
		})
		for unit, zone := range branches {
			for _, p := range papers {
				j := job{p, unit, zone}
				f.create(weekly(func(sub *report.Subscription) {
					sub.GUID, sub.Name, sub.BusinessUnit, sub.Zone = j.guid(), j.guid(), unit, zone
					sub.Cadence = automation.Recurrence{Cron: fmt.Sprintf("0 %d * * %d", p.hour, p.weekday)}
				}))
				if unit == "newyork" {
					j.zone = "EST" // somebody wrote this in winter
				}
				f.jobs = append(f.jobs, j)
			}
		}
		f.design()
		f.forward()
		f.incidents()
		f.end()
		f.is("the table", f.table(), []string{
			"0 Design: 8 reports, 8 by old, 0 by new, 0 refused, 0 conflicts, 0 doubled, 0 missed",
			"1 Shadow: 28 reports, 28 by old, 0 by new, 0 refused, 0 conflicts, 0 doubled, 0 missed",
			"2 RunNow: 6 reports, 4 by old, 2 by new, 1 refused, 0 conflicts, 0 doubled, 0 missed",
			// Of these the old scheduler sent what Sydney's way back returned, and what
			// its forgotten copy took.
			"3 Scheduled: 23 reports, 2 by old, 21 by new, 23 refused, 1 conflicts, 0 doubled, 0 missed",
			"3 again: 8 reports, 0 by old, 8 by new, 8 refused, 0 conflicts, 0 doubled, 0 missed",
			"4 CutOver: 16 reports, 0 by old, 16 by new, 0 refused, 0 conflicts, 0 doubled, 0 missed",
		})
	})
}

// design is stages 0 and 1: all rows are in shadow, and a comparison finds that the
// two sides build different keys, of which the guard could not know that they mean
// one run.
func (f *firm) design() {
	f.look()
	for _, j := range f.jobs {
		runs, _, err := f.reports.Runs(f.ctx, "", j.guid(), storage.Page{})
		f.must(err)
		f.is("in shadow", len(runs) > 0 && !slices.ContainsFunc(runs, func(r report.RunState) bool { return r.Reason != reasons.Shadow }), true)
	}
	f.until(3, 1, 0)
	f.move("", cutover.StageShadow)
	f.knows = tells
	f.readLog()
	f.until(3, 12, 0)
	f.is("by winter time", f.compare("", at(2, 22, 6, 0)), [3]int{1, 1, 1})
	for i := range f.jobs {
		f.jobs[i].zone = branches[f.jobs[i].unit]
	}
	f.until(3, 15, 0)
	f.is("mended", f.compare("", at(3, 12, 0, 0)), same)
}

// forward is stages 2 and 3, one branch before the others.
func (f *firm) forward() {
	f.knows = asks
	f.move("dublin", cutover.StageRunNow)
	f.must(second(f.reports.RunNow(f.ctx, "", "dublin-sales", "", support)))
	f.wanted["dublin-sales of 2026-03-15, asked for"] = f.stages["dublin"]
	f.must(second(f.reports.Refresh(f.ctx, "", storage.Page{})))
	picked := "report-subscription:dublin-sales:scheduled:2026-03-16T09:00:00Z"
	f.must(f.work.Rollout().TransferOwnership(f.ctx, "", picked, cutover.AutomationScheduler, automation.By(support)))
	f.until(3, 22, 0)
	f.move("dublin", cutover.StageScheduled)
	f.until(3, 29, 0)
	for _, unit := range []string{"newyork", "riyadh", "sydney"} {
		f.is(unit, f.compare(unit, at(3, 12, 0, 0)), same)
	}
	f.healthy()
	f.move("", cutover.StageRunNow)
	f.until(4, 1, 0)
	f.move("", cutover.StageScheduled)
	f.until(4, 5, 20)
}

// incidents are an outage, over which Sydney goes back, and a copy of the old
// scheduler that has learned nothing.
func (f *firm) incidents() {
	f.down = true
	f.until(4, 6, 2)
	var overdue []string
	for _, r := range f.move("sydney", cutover.StageShadow).Runs {
		if r.Overdue {
			overdue = append(overdue, r.Key)
		}
	}
	f.is("overdue", overdue, []string{"report-subscription:sydney-sales:scheduled:2026-04-05T23:00:00Z"})
	f.deliver(f.job("sydney-sales"), at(4, 5, 23, 0), asks)
	f.down = false
	f.until(4, 6, 5)
	f.deliver(f.job("riyadh-sales"), at(4, 6, 6, 0), silent) // its clock is an hour ahead
	trespassed, doubled := f.readLog()
	f.is("trespassed and doubled", []int{trespassed, doubled}, []int{1, 0})
	f.until(4, 6, 8)
	contests := f.contests()
	if len(contests) != 1 {
		f.Fatalf("%+v", contests)
	}
	f.must(f.work.Support().Cancel(f.ctx, "", contests[0].Key, automation.By(support)))
	f.move("riyadh", cutover.StageShadow)
	f.until(4, 7, 0)
	for _, unit := range []string{"riyadh", "sydney"} {
		f.move(unit, cutover.StageRunNow)
		f.move(unit, cutover.StageScheduled)
	}
	f.until(4, 19, 0)
}

func (f *firm) job(guid string) job {
	return f.jobs[slices.IndexFunc(f.jobs, func(j job) bool { return j.guid() == guid })]
}

// end is stage 4, in which the old scheduler is switched off, and a step back.
func (f *firm) end() {
	f.healthy()
	f.is("only there", f.compare("", at(4, 8, 0, 0))[2], 0)
	f.moveAll(cutover.StageCutOver)
	f.off = true
	f.until(5, 3, 0)
	f.moveAll(cutover.StageScheduled)
	f.off = false
	for unit, stage := range f.stages {
		f.stages[unit] = strings.Replace(stage, "Scheduled", "again", 1)
	}
	f.until(5, 10, 0)
	f.is("contested in the end", len(f.contests()), 0)
}
