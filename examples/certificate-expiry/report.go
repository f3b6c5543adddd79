package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/belfry-go/belfry"
)

// tally is what the tables say; they are the host's own database, so it asks.
type tally struct {
	reminders map[[2]string]int // by status and reason
	messages  map[string]int    // by status
}

func (t tally) sent() int {
	return t.messages["SentToProvider"] + t.messages["Delivered"] + t.messages["Opened"]
}

func count(ctx context.Context, store database) (tally, error) {
	t := tally{map[[2]string]int{}, map[string]int{}}
	err := each(ctx, store.DB(), "SELECT status, reason_code, count(*) FROM automation_scheduler GROUP BY 1, 2", func(rows *sql.Rows) error {
		var status, reason string
		var n int
		err := rows.Scan(&status, &reason, &n)
		t.reminders[[2]string{status, reason}] = n
		return err
	})
	if err != nil {
		return t, err
	}
	return t, each(ctx, store.DB(), "SELECT status, count(*) FROM outgoing_message GROUP BY 1", func(rows *sql.Rows) error {
		var status string
		var n int
		err := rows.Scan(&status, &n)
		t.messages[status] = n
		return err
	})
}

func each(ctx context.Context, db *sql.DB, query string, scan func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func number(ctx context.Context, store database, query string) (n int, err error) {
	err = store.DB().QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

// inDoubt counts messages whose provider call began and has no result.
func inDoubt(ctx context.Context, store database) (int, error) {
	return number(ctx, store, "SELECT count(*) FROM outgoing_message WHERE status = 'Sending' AND call_started_on IS NOT NULL")
}

// settleDoubt polls once the dead worker's lease has run out, and says what
// became of the mails in doubt.
func settleDoubt(ctx context.Context, s settings, store database, now time.Time, b *bar) error {
	again, _, school, err := openSchool(ctx, s, now, nil)
	if err != nil {
		return err
	}
	defer again.Close()
	if err := belfry.NewPoller(again, nil, school.reminders, school.out).Drain(ctx); err != nil {
		return err
	}
	var found, repeated, held int
	for count, query := range map[*int]string{
		&found:    "SELECT count(*) FROM outgoing_message WHERE resolution = 'StatusLookup' AND calls = 1",
		&repeated: "SELECT count(*) FROM outgoing_message WHERE resolution = 'StatusLookup' AND calls > 1",
		&held:     "SELECT count(*) FROM outgoing_message WHERE is_on_support_hold",
	} {
		if *count, err = number(ctx, store, query); err != nil {
			return err
		}
	}
	b.say("Settled: %d had arrived (their files were there) and were not sent again, %d had not and were sent, %d wait for a person.\n",
		found, repeated, held)
	return nil
}

// because says in this school's words what a reason means.
var because = map[string]string{
	"Superseded":          "the certificate was renewed",
	"SourceNoLongerValid": "the person has left",
	"NoRecipients":        "there is no address",
}

// report prints the table at the end.
func report(ctx context.Context, store database, s settings, w io.Writer, before tally, passed int) error {
	now, err := count(ctx, store)
	if err != nil {
		return err
	}
	mails, doubled := now.sent(), 0
	if s.smtp == "" {
		if mails, doubled, err = countMails(s.out); err != nil {
			return err
		}
	}
	total, completed := 0, 0
	for k, n := range now.reminders {
		total += n
		if k[0] == "Completed" {
			completed += n
		}
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "reminders created\t%d\n", total)
	fmt.Fprintf(t, "mails sent\t%d\n", mails)
	for _, reason := range []string{"Superseded", "SourceNoLongerValid", "NoRecipients"} {
		fmt.Fprintf(t, "skipped\t%d\t%s: %s\n", now.reminders[[2]string{"Deactivated", reason}], reason, because[reason])
	}
	fmt.Fprintf(t, "skipped\t%d\tOffsetPassed: their moment was over before the import\n", passed)
	fmt.Fprintf(t, "doubled\t%d\n", doubled)
	fmt.Fprintf(t, "lost\t%d\n", completed-mails)
	if err := next(ctx, store, t); err != nil {
		return err
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if again := now.sent() - before.sent(); before.sent() > 0 && again == 0 {
		fmt.Fprintln(w, "\nThis run sent nothing: all of it had been said before.")
	} else if s.smtp == "" {
		fmt.Fprintf(w, "\nThe mails are in %s. Run it again: it sends nothing more.\n", s.out)
	}
	return nil
}

func next(ctx context.Context, store database, t io.Writer) error {
	var local, at, zone, source string
	err := store.DB().QueryRowContext(ctx, "SELECT scheduled_local_date, send_at, time_zone, source FROM automation_scheduler WHERE due_on IS NOT NULL ORDER BY due_on LIMIT 1").
		Scan(&local, &at, &zone, &source)
	if err == sql.ErrNoRows {
		_, err = fmt.Fprintln(t, "next\tnone")
		return err
	}
	if err == nil {
		_, err = fmt.Fprintf(t, "next\t%s %s %s\t%s\n", local, at, zone, source)
	}
	return err
}
