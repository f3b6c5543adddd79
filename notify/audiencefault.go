package notify

import (
	"fmt"
	"strings"
)

// maxFaults is how many faults of an audience are listed; more are only counted.
const maxFaults = 100

// AudienceFault is what is wrong with one recipient of an audience. It never
// holds an address or a name.
type AudienceFault struct {
	// Line is the line of a CSV file at which the record begins, or counts the
	// recipients of an iterator, from 1.
	Line int
	// Problem is for people; of a recipient who is kept and skipped it is the
	// reason code.
	Problem string
}

func (f AudienceFault) Error() string { return fmt.Sprintf("line %d: %s", f.Line, f.Problem) }

// AudienceError refuses an audience: nothing of it was stored.
type AudienceError struct {
	Faults []AudienceFault // the first 100
	Count  int             // of all
}

func (e *AudienceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "notify: audience refused: %d faults", e.Count)
	for _, f := range e.Faults {
		b.WriteString("\n" + f.Error())
	}
	if more := e.Count - len(e.Faults); more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// faultList collects faults up to the cap.
type faultList struct {
	first []AudienceFault
	count int
}

func (l *faultList) add(line int, problem string) {
	l.count++
	if len(l.first) < maxFaults {
		l.first = append(l.first, AudienceFault{line, problem})
	}
}
