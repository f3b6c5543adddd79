package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// row is a stage in the table.
type row struct{ runs, old, new, doubled, missed int }

// stagesInOrder are the rows of the table.
var stagesInOrder = []string{"0 Design", "1 Shadow", "2 RunNow", "3 Scheduled", "4 CutOver", "3 again", "unexpected"}

func (l *ledger) rows() map[string]row {
	rows := map[string]row{}
	for _, e := range l.entries {
		stage := e.stage
		if stage == "" {
			stage = "unexpected"
		}
		r := rows[stage]
		r.runs++
		for _, side := range e.by {
			if side == "old" {
				r.old++
			} else {
				r.new++
			}
		}
		r.doubled += max(len(e.by)-1, 0)
		if len(e.by) == 0 {
			r.missed++
		}
		rows[stage] = r
	}
	return rows
}

// table prints who sent what, and says whether that is as it should be.
func (l *ledger) table(w io.Writer) error {
	rows := l.rows()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "stage\treports\tsent by old\tby new\told refused\tconflicts\tdoubled\tmissed\t")
	var bad []string
	for _, stage := range stagesInOrder {
		r := rows[stage]
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", stage, r.runs, r.old, r.new, l.refused[stage], l.conflicts[stage], r.doubled, r.missed)
		early, late := slices.Index(stagesInOrder, stage) < 2, slices.Index(stagesInOrder, stage) > 3
		if r.doubled > 0 || r.missed > 0 || early && r.new > 0 || late && r.old > 0 || stage == "unexpected" && r.runs > 0 {
			bad = append(bad, stage)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("not as it should be: %v", bad)
	}
	return nil
}
