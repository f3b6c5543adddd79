package automation

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Validator loads the source of a due row again and says whether the row is
// still wanted (Automation & Reminders, "Execution-time revalidation"). It may
// be called from several goroutines and again for the same row, and changes
// nothing. Without one a source counts as valid.
//
//spec:a-094 a-097
type Validator interface {
	Validate(ctx context.Context, d Due) (Validity, error)
}

// Validity is a Validator's answer: [StillValid], [NoLongerValid] or [AsksFor].
// The zero value is NoLongerValid without a reason of its own.
//
//spec:a-094
type Validity struct {
	valid      bool
	reason     Reason
	candidates []Candidate
	version    int64
}

// StillValid says that the source still wants what the row stands for.
func StillValid() Validity { return Validity{valid: true} }

// NoLongerValid says that the source is gone or wants no reminder any more: the
// row ends as Deactivated, which is no failure. An empty reason is
// SourceNoLongerValid.
func NoLongerValid(reason Reason) Validity { return Validity{reason: reason} }

// AsksFor says what the source asks for now, as a [TriggerProvider] would. A due
// row that is among the candidates with the InputHash it has is still valid. Any
// other ends as Deactivated, InputChanged, and the candidates are ensured in the
// same transaction; without any it ends as by NoLongerValid. The version is the
// source's, as in [Event]: candidates of an older one than an event has shown
// already are not ensured. Zero: there are no versions.
//
//spec:a-095
func AsksFor(version int64, c ...Candidate) Validity {
	return Validity{valid: len(c) > 0, candidates: slices.Clone(c), version: version}
}

// why is the reason for which the row ends; empty if it goes on.
func (v Validity) why() Reason {
	if v.valid {
		return ""
	}
	return cmp.Or(v.reason, SourceNoLongerValid)
}

// word names the answer for people.
func (v Validity) word() string {
	switch {
	case !v.valid:
		return string(v.why())
	case len(v.candidates) > 0:
		return "AsksFor"
	}
	return "StillValid"
}

// ValidatorFunc is a Validator made of a function.
type ValidatorFunc func(ctx context.Context, d Due) (Validity, error)

// Validate calls f.
func (f ValidatorFunc) Validate(ctx context.Context, d Due) (Validity, error) { return f(ctx, d) }

// revalidator answers notify's question whether a message that waited or failed
// is still wanted: it takes the row behind the job through the same settings and
// revalidate steps as when it was due.
type revalidator struct{ s *core }

// Revalidator is for a [notify.Type] that the host registers itself, because a
// [ReminderType] names it as its NotificationType: it asks before a message that
// waited or failed goes out whether its reminder still stands, as Register has it
// asked for the types that it makes. It also serves types that are no reminder's.
func (s *Scheduler) Revalidator() notify.Revalidator { return revalidator{s.core} }

// Revalidate answers for each job in order. A job without a row behind it (an
// immediate notification) proceeds.
func (v revalidator) Revalidate(ctx context.Context, jobs []notify.Job) ([]notify.Verdict, error) {
	rows, err := v.rows(ctx, jobs)
	if err != nil {
		return nil, err
	}
	out := make([]notify.Verdict, len(jobs))
	items := map[string][]work.Item[scheduleRow]{} // by type
	places := map[*scheduleRow]int{}
	for i, row := range rows {
		if row != nil {
			items[row.Kind] = append(items[row.Kind], work.Item[scheduleRow]{Row: row, Ctx: ctx})
			places[row] = i
		}
	}
	for _, group := range items {
		b := v.s.worker().newBatch(group)
		b.steps = validitySteps
		b.run(ctx)
		for _, t := range b.tries {
			if t.err != nil {
				return nil, t.err
			}
			if t.stop != "" {
				out[places[t.row]] = notify.Skip(string(t.stop))
			}
		}
	}
	return out, nil
}

// rows gives the row behind each job, nil where there is none.
func (v revalidator) rows(ctx context.Context, jobs []notify.Job) ([]*scheduleRow, error) {
	places := map[driver.Place]int{}
	for i, j := range jobs {
		if j.SourceKey != "" {
			places[driver.Place{Scope: j.Scope, Key: j.SourceKey}] = i
		}
	}
	out := make([]*scheduleRow, len(jobs))
	err := v.s.store.InTx(ctx, func(tx storage.Tx) error {
		found, err := schedules.GetMany(ctx, tx, slices.Collect(maps.Keys(places)))
		for place, row := range found {
			out[places[place]] = row
		}
		return err
	})
	return out, err
}
