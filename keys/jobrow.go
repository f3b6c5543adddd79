package keys

import "time"

// JobRow is the row key of a manual or transactional notification job
// (Communication - System architecture, "Key policy"):
//
//	{CreatedReverseTicks}_{job}
//
// where job is the job's GUID. The history of an entity so begins with the
// newest. The error is a [*PartError].
func JobRow(created time.Time, job string) (string, error) {
	if p := textProblem(job, MaxPartLen, ":"); p != "" {
		return "", &PartError{Kind: "notification job row", Part: "job", Problem: p}
	}
	return ticksRow("notification job row", "created", created, job)
}

// ticksRow joins the two. The ticks have a fixed length, so that a '_' in the
// rest does no harm.
func ticksRow(kind, part string, t time.Time, rest string) (string, error) {
	ticks, err := ReverseTicks(t)
	if err != nil {
		return "", &PartError{Kind: kind, Part: part, Problem: outsideCalendar}
	}
	return ticks + "_" + rest, nil
}
