package notify

import (
	"cmp"
	"errors"
	"iter"
)

// Audience is a stream of recipients, read once by [Notifier.PutAudience]. Make
// one with [AudienceOf], [AudienceCSV] or [AudienceRows].
type Audience struct{ entries iter.Seq[entry] }

// entry is one recipient of a stream, or what is wrong with it.
type entry struct {
	line  int
	to    Recipient
	fault error // of this line; the stream goes on
	err   error // of the stream, which ends
}

// AudienceOf is an audience from an iterator. An error that the iterator yields
// ends the stream, unless it is an [AudienceFault]: then it is listed with the
// others, under its own line if it has one. Recipients are counted from 1.
func AudienceOf(seq iter.Seq2[Recipient, error]) Audience {
	return Audience{func(yield func(entry) bool) {
		line := 0
		for r, err := range seq {
			line++
			e := entry{line: line, to: r, err: err}
			var fault AudienceFault
			if errors.As(err, &fault) {
				e.line, e.fault, e.err = cmp.Or(fault.Line, line), errors.New(fault.Problem), nil
			}
			if !yield(e) || e.err != nil {
				return
			}
		}
	}}
}

// Rows is the answer to a query of the host's: a *sql.Rows is one.
type Rows interface {
	Next() bool
	Err() error
	Close() error
}

// AudienceRows is an audience from the rows of a query; scan makes a recipient of
// the present row. Give the query an ORDER BY that is total: another order is
// another payload, and so a conflict in a retry. The rows are closed at the end.
func AudienceRows(rows Rows, scan func() (Recipient, error)) Audience {
	return AudienceOf(func(yield func(Recipient, error) bool) {
		defer func() { _ = rows.Close() }() // Err has said what there was to say
		for rows.Next() {
			if !yield(scan()) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Recipient{}, err)
		}
	})
}
