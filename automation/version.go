package automation

import (
	"context"
	"maps"
	"slices"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// versioned reports whether a plan says with which version of its setting it was made.
func versioned(plans []plan) bool {
	return slices.ContainsFunc(plans, func(p plan) bool { return p.settingVersion > 0 })
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

// sourceState is a row of automation_source: how far the events of an entity
// have come. A transaction that derives rows from the state of an entity writes it first,
// so that an event that loaded an old state cannot undo a newer one. It is never
// due.
type sourceState struct {
	storage.Record
	SourceType string `db:"source_type,fixed,plain"`
	Source     string `db:"source,fixed,person"`
	EventType  string `db:"event_type,plain"`
	EventID    string `db:"event_id,plain"`
	// Versions are the newest that each stream has shown.
	Versions map[string]int64 `db:"versions,json,plain"`
	// Passed are requests that came too late to have a row, the oldest first.
	Passed []passed `db:"passed,json,null,person"`
}

func (s *sourceState) others(stream string) bool {
	for known := range s.Versions {
		if known != stream {
			return true
		}
	}
	return false
}

var sources = driver.Define[sourceState]("automation_source").Grows(driver.WithEntities).
	Kept(driver.Always, "an older event of a source does not undo a newer one").Limit(maxRow)

// newSourceState is the row that an event asks for. The error is a
// *keys.PartError.
func newSourceState(e Event) (*sourceState, error) {
	key, err := keys.Join(e.Source.Type, e.Source.ID)
	if err != nil {
		return nil, err
	}
	versions := map[string]int64{}
	if e.Version > 0 {
		versions[e.stream()] = e.Version
	}
	return &sourceState{
		Record: storage.Record{Scope: e.Scope, Key: key}, SourceType: e.Source.Type, Source: e.Source.ID,
		EventType: e.Type, EventID: e.ID, Versions: versions,
	}, nil
}

// stamped is the answer of stamp: the newest version that the event's stream has shown,
// whether the event is not older, and whether the source has other streams, whose
// events may have come since this one was planned.
type stamped struct {
	version int64
	fresh   bool
	others  bool
	row     *sourceState
}

// stamp takes the sources' rows for events until the transaction ends. An older
// event does not get its row; one without a version does, and leaves the version.
func stamp(ctx context.Context, tx storage.Tx, events ...Event) ([]stamped, error) {
	wants := make([]*sourceState, len(events))
	older := map[*sourceState]bool{}
	for i, e := range events {
		want, err := newSourceState(e)
		if err != nil {
			return nil, err
		}
		wants[i] = want
	}
	got, err := sources.Ensure(ctx, tx, func(stored, want *sourceState) (storage.Outcome, bool) {
		versions := maps.Clone(stored.Versions)
		for stream, version := range want.Versions {
			if older[want] = version < versions[stream]; older[want] {
				return storage.Unchanged, false
			}
			versions[stream] = version
		}
		stored.Versions = versions
		if want.EventType != "" { // else the host spoke: the last event stays known
			stored.EventType, stored.EventID = want.EventType, want.EventID
		}
		return storage.Updated, true
	}, wants...)
	out := make([]stamped, len(got))
	for i, g := range got {
		stream := events[i].stream()
		out[i] = stamped{g.Row.Versions[stream], !older[wants[i]], g.Row.others(stream), g.Row}
	}
	return out, err
}
