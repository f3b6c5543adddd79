package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// show is the parent: it tells Belfry of the certificates, lets a worker process
// do the rest, kills it once, and reports.
func show(ctx context.Context, s settings, stdout io.Writer) error {
	store, _, school, err := openSchool(ctx, s, firstDay, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	before, err := count(ctx, store)
	if err != nil {
		return err
	}
	passed, err := importAll(ctx, school, stdout)
	if err != nil {
		return err
	}
	b := newBar(stdout)
	if err := letTimePass(ctx, s, store, b, before.sent() == 0); err != nil {
		return err
	}
	if err := explainRenewal(ctx, school, b); err != nil {
		return err
	}
	return report(ctx, store, s, stdout, before, passed)
}

// acrossDST is a certificate whose reminders lie on both sides of a change of
// the clocks.
const acrossDST = "teacher-002-first-aid"

// importAll tells of every certificate and returns how many reminders lay too
// far in the past to be made.
func importAll(ctx context.Context, school *school, w io.Writer) (passed int, err error) {
	outcomes := map[storage.Outcome]int{}
	var moments string
	for _, id := range school.order {
		result, err := school.tell(ctx, id, 1)
		if err != nil {
			return 0, err
		}
		for _, e := range result.Ensured {
			outcomes[e.Outcome]++
			if id == acrossDST {
				moments += e.ScheduledOn.Format(", 2 January 15:04 UTC")
			}
		}
	}
	fmt.Fprintf(w, "%d certificates on %s: %d reminders are new, %d were known.\n",
		len(school.order), firstDay.Format(time.DateOnly), outcomes[storage.Created], outcomes[storage.Unchanged])
	fmt.Fprintf(w, "Always at 09:00 where people are: %s in %s hears of it%s.\n\n",
		school.get(acrossDST).Person, school.get(acrossDST).Zone, moments)
	return outcomes[automation.OffsetPassed], nil
}

// letTimePass runs the worker, over its own death if it is to be killed.
func letTimePass(ctx context.Context, s settings, store database, b *bar, kill bool) error {
	now := firstDay
	for s.stall = kill; ; s.stall = false {
		earlier, err := count(ctx, store)
		if err != nil {
			return err
		}
		b.earlier = int64(earlier.sent())
		last, killed, err := runWorker(ctx, s, now, b)
		if err != nil || !killed {
			return err
		}
		doubt, err := inDoubt(ctx, store)
		if err != nil {
			return err
		}
		b.say("\nThe worker was killed (SIGKILL) in the middle of sending, on %s.", last.Format(time.DateOnly))
		b.say("In doubt: %d mails. Their calls had begun, and nobody wrote down how they ended.", doubt)
		now = last.Add(2 * time.Minute) // its lease has run out
		if err := settleDoubt(ctx, s, store, now, b); err != nil {
			return err
		}
	}
}

// runWorker lets a child process work from now on, until the end or its death.
func runWorker(ctx context.Context, s settings, now time.Time, b *bar) (last time.Time, killed bool, err error) {
	child := exec.CommandContext(ctx, os.Args[0], "-worker", "-db", s.db, "-out", s.out, "-dsn", s.dsn, "-smtp", s.smtp,
		"-now", now.Format(time.RFC3339), "-stall="+strconv.FormatBool(s.stall))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return now, false, err
	}
	if err := child.Start(); err != nil {
		return now, false, err
	}
	last = now
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return last, false, err
		}
		last = l.Now
		switch {
		case l.Calling:
			killed = true
			if err := child.Process.Kill(); err != nil {
				return last, true, err
			}
		case l.Renewed != "":
			b.say("\n%s: %s was renewed until %s.", l.Now.Format(time.DateOnly), l.Renewed, renewedUntil)
		default:
			b.show(l.Now, l.Sent)
		}
	}
	if err := child.Wait(); err != nil && !killed {
		return last, false, fmt.Errorf("the worker ended with %w", err)
	}
	return last, killed, nil
}

// explainRenewal shows why a reminder of the renewed certificate never went out.
func explainRenewal(ctx context.Context, school *school, b *bar) error {
	c := school.get(renewedID)
	key, err := keys.Reminder{
		Setting: "certificate", SourceType: "certificate", Source: renewedID, TriggerKey: "default",
		TargetDate: c.Expires.String(), OffsetDays: 7,
	}.Key()
	if err != nil {
		return err
	}
	why, err := school.reminders.Explain(ctx, "", key)
	if err != nil {
		return err
	}
	b.say("\nWhy did %s get no reminder 7 days before %s? Explain says:\n%s", c.Person, c.Expires, why)
	return nil
}
