package automation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// RolloutPart is the part of the work that moves together from an old scheduler
// to this one. Of the parts that cover a run the narrowest counts: one that names
// the run's Source before one that names its Setting, and that before one that
// names its BusinessUnit.
type RolloutPart struct {
	Scope Scope
	// Type is a reminder type or a host's automation type; required.
	Type string
	// BusinessUnit, Setting and Source narrow it down; empty: all of them. Source is
	// the id of the entity, such as a report subscription.
	BusinessUnit, Setting, Source string
}

// Rollout is how far a part has come.
type Rollout struct {
	RolloutPart
	Stage Stage
	// Moving says that a move to Stage was not finished: some of its runs still are
	// as before. [Scheduler.MoveRollout] to the same stage finishes it.
	Moving bool
	By     By        // who moved it last, and why
	On     time.Time // UTC
}

// The statuses of a rollout.
const (
	rolloutMoving  = "Moving"
	rolloutSettled = "Settled"
)

// rollout is a row of automation_rollout. It is never due; Type is the part's.
type rollout struct {
	storage.Record
	BusinessUnit string    `db:"business_unit,fixed"`
	Setting      string    `db:"setting,fixed"`
	Source       string    `db:"source,fixed"`
	Stage        Stage     `db:"stage"`
	ChangedBy    string    `db:"changed_by"`
	Reason       string    `db:"reason"`
	ChangedOn    time.Time `db:"changed_on"`
}

var rollouts = storage.Define[rollout]("automation_rollout").Limit(maxRow)

func (r *rollout) view() Rollout {
	return Rollout{
		RolloutPart: RolloutPart{Scope: r.Scope, Type: r.Type, BusinessUnit: r.BusinessUnit, Setting: r.Setting, Source: r.Source},
		Stage:       r.Stage, Moving: r.Status == rolloutMoving, By: By{Actor: r.ChangedBy, Reason: r.Reason}, On: r.ChangedOn,
	}
}

// key is unique within the scope, since no name holds a control character.
func (p RolloutPart) key() string {
	return strings.Join([]string{p.Type, p.BusinessUnit, p.Setting, p.Source}, "\x1f")
}

func (p RolloutPart) check() error {
	if p.Scope == storage.AnyScope {
		return errAnyScope
	}
	if p.Type == "" {
		return errors.New("automation: RolloutPart: Type is not set")
	}
	for _, part := range []struct{ field, text string }{
		{"Scope", string(p.Scope)}, {"Type", p.Type}, {"BusinessUnit", p.BusinessUnit}, {"Setting", p.Setting}, {"Source", p.Source},
	} {
		if _, err := checkTenancy("", part.text); err != nil {
			return fmt.Errorf("automation: RolloutPart: %s: %w", part.field, err)
		}
	}
	return nil
}

// covers reports whether a run belongs to the part, as far as is known.
func (p RolloutPart) covers(o *ownership) bool {
	return p.Type == o.Type && (p.BusinessUnit == "" || p.BusinessUnit == o.BusinessUnit) &&
		(p.Setting == "" || p.Setting == o.Setting) && (p.Source == "" || p.Source == o.Source)
}

// wider are the parts that cover p's runs, p first, the narrower ones before.
func (p RolloutPart) wider() []RolloutPart {
	out := make([]RolloutPart, 0, 8)
	for _, source := range slices.Compact([]string{p.Source, ""}) {
		for _, setting := range slices.Compact([]string{p.Setting, ""}) {
			for _, unit := range slices.Compact([]string{p.BusinessUnit, ""}) {
				out = append(out, RolloutPart{Scope: p.Scope, Type: p.Type, BusinessUnit: unit, Setting: setting, Source: source})
			}
		}
	}
	return out
}

func (r *Schedule) rolloutPart() RolloutPart {
	return RolloutPart{Scope: r.Scope, Type: r.Type, BusinessUnit: r.BusinessUnit, Setting: r.Setting, Source: r.Source}
}

func (o *ownership) rolloutPart() RolloutPart {
	return RolloutPart{Scope: o.Scope, Type: o.Type, BusinessUnit: o.BusinessUnit, Setting: o.Setting, Source: o.Source}
}

// stages are those of parts that were moved.
type stages map[RolloutPart]Stage

// of is the stage of the runs of a part; nobody has moved it: the first one.
func (st stages) of(p RolloutPart) Stage {
	for _, wider := range p.wider() {
		if stage, ok := st[wider]; ok {
			return stage
		}
	}
	return StageDesign
}

// loadStages reads what decides about runs of the parts: a statement for each
// scope.
func loadStages(ctx context.Context, tx storage.Tx, parts []RolloutPart) (stages, error) {
	wanted := map[Scope]map[string]bool{}
	for _, p := range parts {
		if wanted[p.Scope] == nil {
			wanted[p.Scope] = map[string]bool{}
		}
		for _, wider := range p.wider() {
			wanted[p.Scope][wider.key()] = true
		}
	}
	out := stages{}
	for scope, keys := range wanted {
		for some := range slices.Chunk(slices.Sorted(maps.Keys(keys)), compareChunk) {
			found, err := rollouts.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", some)}, Limit: len(some)})
			if err != nil {
				return nil, err
			}
			for _, r := range found {
				out[r.view().RolloutPart] = r.Stage
			}
		}
	}
	return out, nil
}
