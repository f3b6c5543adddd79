package automation

import (
	"context"
	"slices"
)

// A setting may change between what a provider has read and what is written for it.
// So plans that say with which version they were made are compared with the settings
// inside the transaction, behind the row of the source: an event that was planned with
// an older one is planned again there. A re-plan of the newer one either finds that, or
// waits for the row of the source.

// planAhead is what is planned for an event before its transaction.
func (s planner) planAhead(ctx context.Context, e Event, r route) (eventPlan, error) {
	p, err := s.planEvent(ctx, e, r)
	if err == nil && !versioned(p.plans) {
		p.off, err = s.inactive(ctx, e.Scope, p.spoken)
	}
	return p, err
}

// planWithin completes the plan of an event inside its transaction, or makes it again.
func (s planner) planWithin(ctx context.Context, e Event, r route, p eventPlan, again bool) (eventPlan, error) {
	var err error
	if e.Version > 0 && !again {
		if !versioned(p.plans) {
			return p, nil
		}
		var newer bool
		if p.off, newer, err = s.newer(ctx, e.Scope, p); err != nil || !newer {
			return p, err
		}
	}
	if p, err = s.planEvent(ctx, e, r); err == nil {
		p.off, err = s.inactive(ctx, e.Scope, p.spoken)
	}
	return p, err
}

// versioned reports whether a plan says with which version of its setting it was made.
func versioned(plans []plan) bool {
	return slices.ContainsFunc(plans, func(p plan) bool { return p.settingVersion > 0 })
}

// newer loads the settings that were spoken for: which of them are off, and whether
// one of the plans was made with an older version.
func (s planner) newer(ctx context.Context, scope Scope, p eventPlan) (off map[string]bool, newer bool, err error) {
	loaded, err := s.settings(ctx, scope, p.spoken)
	return offAmong(loaded), older(loaded, p.plans), err
}

// older reports whether one of the plans was made with an older version.
func older(loaded []Setting, plans []plan) bool {
	versions := map[string]int64{}
	for _, setting := range loaded {
		versions[setting.ID] = setting.Version
	}
	return slices.ContainsFunc(plans, func(p plan) bool {
		return p.settingVersion > 0 && p.settingVersion < versions[p.want.Setting]
	})
}

// inactive tells which settings are off.
func (s planner) inactive(ctx context.Context, scope Scope, ids []string) (map[string]bool, error) {
	loaded, err := s.settings(ctx, scope, ids)
	return offAmong(loaded), err
}

func offAmong(loaded []Setting) map[string]bool {
	off := map[string]bool{}
	for _, setting := range loaded {
		if !setting.Active {
			off[setting.ID] = true
		}
	}
	return off
}

// again adds the sources of a page whose plans were made with an older version of a
// setting to those that are asked once more.
func (p *scannedPage) again(ctx context.Context, among []*scannedSource) (out []*scannedSource, err error) {
	var spoken []string
	for _, x := range among {
		if x.event.Version != 0 && versioned(x.plan.plans) {
			spoken = append(spoken, x.plan.spoken...)
		}
	}
	if len(spoken) == 0 {
		return nil, nil
	}
	slices.Sort(spoken)
	loaded, err := p.s.settings(ctx, p.scope, slices.Compact(spoken))
	for _, x := range among {
		if x.event.Version != 0 && older(loaded, x.plan.plans) {
			out = append(out, x)
		}
	}
	return out, err
}

// current leaves out the plans of due rows that were made with an older version of a
// setting: the re-plan of the newer one has planned their source, or will.
func (s planner) current(ctx context.Context, plans []plan) ([]plan, error) {
	of := map[Scope][]string{}
	for _, p := range plans {
		if p.settingVersion > 0 {
			of[p.want.Scope] = append(of[p.want.Scope], p.want.Setting)
		}
	}
	for scope, ids := range of {
		slices.Sort(ids)
		loaded, err := s.settings(ctx, scope, slices.Compact(ids))
		if err != nil {
			return nil, err
		}
		plans = slices.DeleteFunc(plans, func(p plan) bool { return p.want.Scope == scope && older(loaded, []plan{p}) })
	}
	return plans, nil
}
