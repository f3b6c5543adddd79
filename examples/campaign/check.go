package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/belfry-go/belfry/notify"
)

// check prints the table, and is an error unless everybody has one mail and the
// campaign's own figures say so too.
func (d *demonstration) check(ctx context.Context, stdout io.Writer, before int) error {
	sent, err := readJournal(filepath.Join(d.s.dir, "journal.txt"))
	if err != nil {
		return err
	}
	p, err := d.out.Campaigns().Progress(ctx, "", guid)
	if err != nil {
		return err
	}
	alarms, doubled, seen := 0, 0, map[string]bool{}
	for _, to := range sent {
		switch {
		case to == warden:
			alarms++
		case seen[to]:
			doubled++
		}
		seen[to] = true
	}
	mails, twice, bad := d.s.expected()
	fmt.Fprintln(stdout)
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "members in the file\t%d\t\n", p.Recipients)
	fmt.Fprintf(t, "in it twice\t%d\t\n", p.Repeated)
	fmt.Fprintf(t, "without a possible address\t%d\t%s\n", p.Skipped, notify.ReasonBadAddress)
	fmt.Fprintf(t, "messages made\t%d\t\n", p.Generated)
	fmt.Fprintf(t, "mails sent\t%d\t\n", len(sent)-alarms)
	fmt.Fprintf(t, "alarms sent\t%d\t\n", alarms)
	fmt.Fprintf(t, "doubled\t%d\t\n", doubled)
	fmt.Fprintf(t, "lost\t%d\t\n", p.Generated-(len(seen)-alarms))
	if err := t.Flush(); err != nil {
		return err
	}
	got := [7]int{p.Recipients, p.Repeated, p.Skipped, p.Generated, len(sent) - alarms, alarms, doubled}
	want := [7]int{d.s.n, twice, bad, mails, mails, 1, 0}
	if got != want || p.Status != notify.StatusGenerated {
		return fmt.Errorf("the campaign is %s, and its figures are %v instead of %v", p.Status, got, want)
	}
	if before == len(sent) {
		fmt.Fprintln(stdout, "\nThis run sent nothing: everybody had it before.")
	}
	return nil
}
