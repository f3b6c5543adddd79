package automation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

func checkStage(s cutover.Stage) error {
	if s < cutover.StageDesign || s > cutover.StageCutOver {
		return fmt.Errorf("stage %d is not one of 0 to 4", int(s))
	}
	return nil
}

// runs reports whether a run of that key is done here without being picked.
func stageRuns(s cutover.Stage, key string) bool {
	return s >= cutover.StageScheduled || s == cutover.StageRunNow && asked(key)
}

// owner is who gets a new run of that key.
func stageOwner(s cutover.Stage, key string) cutover.Owner {
	if stageRuns(s, key) {
		return cutover.AutomationScheduler
	}
	return cutover.OldScheduler
}

// asked reports whether a person asked for the run: it is manual, or a rerun.
func asked(key string) bool {
	parsed, err := keys.Parse(key)
	if err != nil {
		return false
	}
	trigger := ""
	switch k := parsed.(type) {
	case keys.ManualReportRun:
		return true
	case keys.Reminder:
		trigger = k.TriggerKey
	case keys.Threshold:
		trigger = k.TriggerKey
	case keys.Recurring:
		trigger = k.TriggerKey
	case keys.Instant:
		trigger = k.TriggerKey
	case keys.Host:
		trigger = k.TriggerKey
	case keys.HostRun:
		if k.Run != "" {
			return true
		}
		trigger = k.TriggerKey
	}
	return strings.Contains(trigger, rerunMark)
}

// The statuses of a rollout.
const (
	rolloutMoving  = "Moving"
	rolloutSettled = "Settled"
)

// rollout is a row of automation_rollout. It is never due; Type is the part's.
type rollout struct {
	storage.Record
	BusinessUnit string        `db:"business_unit,fixed,plain"`
	Source       string        `db:"source,fixed,person"`
	Stage        cutover.Stage `db:"stage"`
	ChangedBy    string        `db:"changed_by,person"`
	Reason       string        `db:"reason,content"`
	ChangedOn    time.Time     `db:"changed_on"`
}

var rollouts = driver.Define[rollout]("automation_rollout").Grows(driver.Bounded).
	Kept(driver.Always, "one for each part of a roll-out").Limit(maxRow)

func (r *rollout) view() cutover.Status {
	return cutover.Status{
		Part:  cutover.Part{Scope: r.Scope, Type: r.Kind, BusinessUnit: r.BusinessUnit, Source: r.Source},
		Stage: r.Stage, Moving: r.Status == rolloutMoving, By: By{Actor: r.ChangedBy, Reason: r.Reason}, On: r.ChangedOn,
	}
}

// key is unique within the scope, since no name holds a control character.
func rolloutKey(p cutover.Part) string {
	return strings.Join([]string{p.Type, p.BusinessUnit, p.Source}, "\x1f")
}

func checkRolloutPart(p cutover.Part) error {
	if p.Type == "" {
		return errors.New("automation: cutover.Part: Type is not set")
	}
	if p.BusinessUnit != "" && p.Source != "" {
		return errors.New("automation: cutover.Part: it names a BusinessUnit and a Source, and may name one of them")
	}
	for _, part := range []struct{ field, text string }{
		{"Scope", string(p.Scope)}, {"Type", p.Type}, {"BusinessUnit", p.BusinessUnit}, {"Source", p.Source},
	} {
		if _, err := checkTenancy("", part.text); err != nil {
			return fmt.Errorf("automation: cutover.Part: %s: %w", part.field, err)
		}
	}
	return nil
}

// covers reports whether a run belongs to the part, as far as is known.
func coversRun(p cutover.Part, o *ownership) bool {
	return p.Type == o.Kind && (p.BusinessUnit == "" || p.BusinessUnit == o.BusinessUnit) &&
		(p.Source == "" || p.Source == o.Source)
}

// narrowed are the conditions beside the type.
func narrowedTo(p cutover.Part) []driver.Cond {
	switch {
	case p.Source != "":
		return []driver.Cond{driver.Eq("source", p.Source)}
	case p.BusinessUnit != "":
		return []driver.Cond{driver.Eq("business_unit", p.BusinessUnit)}
	}
	return nil
}

// wider are the parts that cover p's runs, the narrowest first.
func widerParts(p cutover.Part) []cutover.Part {
	all := cutover.Part{Scope: p.Scope, Type: p.Type}
	out := make([]cutover.Part, 0, 3)
	if p.Source != "" {
		source := all
		source.Source = p.Source
		out = append(out, source)
	}
	if p.BusinessUnit != "" {
		unit := all
		unit.BusinessUnit = p.BusinessUnit
		out = append(out, unit)
	}
	return append(out, all)
}

// rolloutPart is where the run belongs: with both names, of which a part has one.
func (r *scheduleRow) rolloutPart() cutover.Part {
	return cutover.Part{Scope: r.Scope, Type: r.Kind, BusinessUnit: r.BusinessUnit, Source: r.Source}
}

func (o *ownership) rolloutPart() cutover.Part {
	return cutover.Part{Scope: o.Scope, Type: o.Kind, BusinessUnit: o.BusinessUnit, Source: o.Source}
}

// stages are those of parts that were moved.
type stages map[cutover.Part]cutover.Stage

// of is the stage of the runs of a part; nobody has moved it: the first one.
func (st stages) of(p cutover.Part) cutover.Stage {
	for _, wider := range widerParts(p) {
		if stage, ok := st[wider]; ok {
			return stage
		}
	}
	return cutover.StageDesign
}

// loadStages reads what decides about runs of the parts.
func loadStages(ctx context.Context, from driver.Reader, parts []cutover.Part) (stages, error) {
	var wanted []driver.ScopedKey
	for _, p := range parts {
		for _, wider := range widerParts(p) {
			wanted = append(wanted, driver.ScopedKey{Scope: p.Scope, Key: rolloutKey(wider)})
		}
	}
	found, err := rollouts.GetMany(ctx, from, wanted)
	out := stages{}
	for _, r := range found {
		out[r.view().Part] = r.Stage
	}
	return out, err
}

// checkRollout ends rows whose runs are the old scheduler's at the stage of
// their part, before anything is built for them. What the guard says counts in
// the end, when the row is settled.
func (b *batch) checkRollout(ctx context.Context) {
	tries := b.open()
	if len(tries) == 0 || !b.s.registry.guards(tries[0].row.Kind) {
		return
	}
	var allowed map[*try]bool
	err := b.read(ctx, func(from driver.Reader) (err error) {
		allowed, err = allowedAmong(ctx, from, tries)
		return err
	})
	for _, t := range tries {
		if t.err = err; err == nil && !allowed[t] {
			t.stop = reasons.Shadow
		}
	}
}

// allowedAmong are the tries that their stage lets run, and those that were
// picked one by one.
func allowedAmong(ctx context.Context, from driver.Reader, tries []*try) (map[*try]bool, error) {
	var parts []cutover.Part
	for _, t := range tries {
		parts = append(parts, t.row.rolloutPart())
	}
	stages, err := loadStages(ctx, from, parts)
	if err != nil {
		return nil, err
	}
	allowed := map[*try]bool{}
	var picked []driver.ScopedKey
	for i, t := range tries {
		switch stage := stages.of(parts[i]); {
		case stageRuns(stage, t.row.Key):
			allowed[t] = true
		case stage == cutover.StageRunNow:
			picked = append(picked, schedules.ScopedKeyOf(t.row))
		}
	}
	known, err := ownerships.GetMany(ctx, from, picked)
	for _, t := range tries {
		if o := known[schedules.ScopedKeyOf(t.row)]; o != nil && o.Owner == cutover.AutomationScheduler {
			allowed[t] = true
		}
	}
	return allowed, err
}

// inShadow reports whether the row stands for a run that the old scheduler
// does: it is never due.
func (r *scheduleRow) inShadow() bool {
	return r.Status == StatusDeactivated && r.ReasonCode == reasons.Shadow
}

// shade makes a row that does not exist yet one in shadow.
func (r *scheduleRow) shade(now time.Time) {
	r.Status, r.ReasonCode, r.EndedOn, r.DueOn = StatusDeactivated, reasons.Shadow, now, time.Time{}
}

// decideShadow is decideAt for a wanted row in shadow. What support stopped
// stays stopped.
func decideShadow(now time.Time, stored, want *scheduleRow) (storage.Outcome, bool) {
	switch {
	case stored.Status == StatusCancelled, stored.inShadow() && stored.sameMoment(want):
		return storage.Unchanged, false
	}
	stored.moveTo(want)
	stored.NextRetryOn = time.Time{}
	stored.dropExpiredLease(now)
	stored.deactivate(now, reasons.Shadow)
	return storage.Updated, true
}

// errEnough ends a walk that has done as much as it may.
var errEnough = errors.New("enough")

// endShadows ends rows in shadow as ending.rows does those that are open.
func (s ensurer) endShadows(ctx context.Context, d *ending, where []driver.Cond, most int) error {
	err := s.eachShadow(ctx, d.tx, d.event.Scope, where, func(rows []*scheduleRow) error {
		if len(d.ended) >= most {
			return errEnough
		}
		return d.end(ctx, rows[:min(len(rows), most-len(d.ended))])
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// eachShadow visits the rows in shadow that where describes, page by page. The
// guard knows where they are, for no index of automation_scheduler does; without
// a type under the guard it costs nothing.
func (s ensurer) eachShadow(ctx context.Context, from driver.Reader, scope Scope, where []driver.Cond, visit func([]*scheduleRow) error) error {
	if !s.registry.guardsAny() {
		return nil
	}
	guard := slices.DeleteFunc(slices.Clone(where), func(c driver.Cond) bool {
		return !slices.Contains([]string{"setting", "source_type", "source", "key"}, c.Column)
	})
	guard = append(guard, driver.Eq("owner_type", cutover.OldScheduler), driver.Null("ended_on"))
	for after := (*driver.Position)(nil); ; {
		found, err := ownerships.Find(ctx, from, scope, driver.Query{Where: guard, Limit: deactivatePage, After: after})
		if err != nil || len(found) == 0 {
			return err
		}
		rows, err := shadowsAmong(ctx, from, scope, found, where...)
		if err == nil && len(rows) > 0 {
			err = visit(rows)
		}
		if err != nil {
			return err
		}
		after = &driver.Position{ID: found[len(found)-1].ID}
	}
}

// shadowsAmong are the rows in shadow that stand for runs, if where holds.
func shadowsAmong(ctx context.Context, from driver.Reader, scope Scope, of []*ownership, where ...driver.Cond) ([]*scheduleRow, error) {
	keys := make([]string, len(of))
	for i, o := range of {
		keys[i] = o.Key
	}
	where = append(slices.Clone(where), driver.In("key", keys), driver.Eq("status", StatusDeactivated), driver.Eq("reason_code", reasons.Shadow))
	return schedules.Find(ctx, from, scope, driver.Query{Where: where, Limit: len(keys)})
}

// shadowSeries gives a copy of plans that says which of their series are the old
// scheduler's.
func (s ensurer) shadowSeries(ctx context.Context, from driver.Reader, plans []plan) ([]plan, error) {
	out := slices.Clone(plans)
	var parts []cutover.Part
	for _, p := range out {
		if p.series != nil && s.registry.guards(p.want.Kind) {
			parts = append(parts, p.want.rolloutPart())
		}
	}
	stages, err := loadStages(ctx, from, parts)
	for i := range out {
		p := &out[i]
		p.shadow = p.series != nil && s.registry.guards(p.want.Kind) && !stageRuns(stages.of(p.want.rolloutPart()), p.want.Key)
	}
	return out, err
}

// shade puts the wanted rows of a reconciliation into shadow where Ensure would.
func (p *page) shade(ctx context.Context, from driver.Reader, among []*pageSource) error {
	var wants []*scheduleRow
	for _, x := range among {
		x.asked = slices.Clone(x.asked)
		for i := range x.asked {
			wants = append(wants, &x.asked[i].want)
		}
	}
	guard, err := p.s.ensurer().lookUpOwners(ctx, from, wants)
	guard.shape(wants)
	return err
}
