package keys

import "time"

// UserMessageRow is the row key of an in-app message (Communication - System
// architecture, "Key policy"):
//
//	{SourceReverseTicks}_{jobRow}
//
// The source time is one that a repeat finds unchanged (the job's creation or
// its schedule), never the moment of writing, or a repeat would make a second
// message. jobRow is the job's row key, at most [MaxKeyLen] bytes. The error
// is a [*PartError].
func UserMessageRow(source time.Time, jobRow string) (string, error) {
	if p := textProblem(jobRow, MaxKeyLen, ""); p != "" {
		return "", &PartError{Kind: "user message row", Part: "jobRow", Problem: p}
	}
	return ticksRow("user message row", "source", source, jobRow)
}
