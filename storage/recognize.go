package storage

import "context"

// aloof is how many batches in a row recognize nothing after one of which less
// than half was recognized.
const aloof = 15

// recognize settles the rows of round that are stored as they are wanted, by
// their fingerprints and without reading them, and returns the other indices.
func (e *ensuring[R]) recognize(ctx context.Context, round []int) ([]int, error) {
	if !e.recognizable(round) {
		return round, nil
	}
	keys := make([]string, len(round))
	for i, n := range round {
		keys[i] = e.Record(e.want[n]).Key
	}
	prints, err := e.tx.Untouched(ctx, &e.Schema, e.Record(e.want[round[0]]).Scope, keys)
	if err != nil {
		return nil, err
	}
	if err := e.checked(); err != nil {
		return nil, err
	}
	rest := e.decideUnread(round, prints)
	if 2*len(rest) > len(round) {
		e.strangers.Store(aloof)
	}
	return rest, nil
}

// recognizable reports whether round is worth a statement of its own: it has many
// rows, all of one scope, and those of the last batches were known.
func (e *ensuring[R]) recognizable(round []int) bool {
	if e.Schema.Fingerprint == "" || len(round) <= few {
		return false
	}
	first, last := e.want[round[0]], e.want[round[len(round)-1]] // sorted
	if e.Record(first).Scope != e.Record(last).Scope {
		return false
	}
	if e.strangers.Load() > 0 {
		e.strangers.Add(-1)
		return false
	}
	return true
}

// decideUnread asks decide about the rows of round that are stored with one of
// the fingerprints, as if they had been read, and returns the indices of the
// others and of those that are to be written.
func (e *ensuring[R]) decideUnread(round []int, prints []int64) (rest []int) {
	known := make(map[int64]bool, len(prints))
	for _, print := range prints {
		known[print] = true
	}
	column := e.Column(e.Schema.Fingerprint)
	stored := new(R)
	for _, n := range round {
		want := e.want[n]
		if known[column.Int(FieldsOf(e.row(want)))] {
			*stored = *want
			if outcome, write := e.decide(stored, want); !write {
				e.out[n] = Ensured[R]{outcome, want}
				continue
			}
		}
		rest = append(rest, n)
	}
	return rest
}
