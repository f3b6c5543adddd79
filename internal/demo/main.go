// Command demo shows Belfry at work in a school that reminds its
// people before their certificates expire (school.go). Months pass in seconds, a
// worker is killed in the middle of sending, a certificate is renewed, and in the
// end nothing was lost and nothing sent twice. Run it again on the same files: it
// sends nothing.
//
//	go run ./internal/demo
//	go run ./internal/demo -console localhost:8080   # looks at its database in a browser
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/file"
	"github.com/belfry-go/belfry/storage"
)

var (
	firstDay = time.Date(2026, 2, 16, 6, 0, 0, 0, time.UTC)
	// killedOn is a morning on which many mails go out at once. It is in the middle
	// of them that the worker dies.
	killedOn = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)
	// renewedOn is when a certificate is renewed, until renewedUntil.
	renewedOn    = time.Date(2026, 4, 8, 10, 0, 0, 0, time.UTC)
	renewedID    = "teacher-017-first-aid"
	renewedUntil = automation.Date{Year: 2028, Month: time.May, Day: 2}
	lastDay      = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
)

const (
	calling = "calling" // what a worker prints when mails are out and their results are not recorded
	sent    = "outgoing_message WHERE status = 'SentToProvider'"
)

// settings are the flags, and what the parent passes to its worker.
type settings struct {
	db, out string
	console string // looks instead, at this address
	worker  string // the worker's clock starts here
	stall   bool   // the worker stops for ever in a call, so that it can be killed there
}

func main() {
	var s settings
	flag.StringVar(&s.db, "db", "demo/school.db", "SQLite `file`")
	flag.StringVar(&s.out, "out", "demo/mail", "`folder` for the mails, one .eml each")
	flag.StringVar(&s.console, "console", "", "show the database in a browser, at `host:port`")
	flag.StringVar(&s.worker, "worker", "", "for the program itself: work from this `moment` on")
	flag.BoolVar(&s.stall, "stall", false, "for the program itself: the worker stops in a call")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch {
	case s.console != "":
		if _, err := os.Stat(s.db); errors.Is(err, fs.ErrNotExist) {
			show(ctx, s) // there is nothing to look at yet
		}
		check(console(ctx, s, os.Stdout))
	case s.worker != "":
		work(ctx, s)
	default:
		show(ctx, s)
	}
}

// show is the parent. It asks for the reminders, lets a worker process
// do the rest, kills it once, and reports.
func show(ctx context.Context, s settings) {
	school := open(ctx, s, firstDay)
	defer school.store.Close()
	before := school.number(ctx, sent)
	passed := tellAll(ctx, school)
	now := firstDay
	if s.stall = before == 0; s.stall {
		runWorker(ctx, s, now)
		fmt.Printf("\nThe worker was killed (SIGKILL) in the middle of sending, on %s.\n", killedOn.Format(time.DateOnly))
		fmt.Printf("In doubt: %d mails. Their calls had begun, and how they ended was not recorded.\n",
			school.number(ctx, "outgoing_message WHERE status = 'Sending' AND call_started_on IS NOT NULL"))
		s.stall, now = false, killedOn.Add(2*time.Minute) // its lease has run out
		settle(ctx, s, now)
	}
	runWorker(ctx, s, now)
	fmt.Printf("\nWhy did teacher-017 get no reminder 7 days before 2026-04-24? Explain says:\n%s\n\n",
		must(school.reminders.Explain(ctx, "", "reminder:certificate:certificate:"+renewedID+":default:2026-04-24:7")))
	report(ctx, s, school, passed)
	if before > 0 && school.number(ctx, sent) == before {
		fmt.Println("\nThis run sent nothing: everything had been asked for before.")
	} else {
		fmt.Printf("\nThe mails are in %s. Run it again: it sends nothing more.\n", s.out)
	}
	fmt.Println("Who got a mail, who did not, and why? In a browser: make console")
}

// tellAll sends the event of every certificate and returns how many reminders lay too far in
// the past to be made.
func tellAll(ctx context.Context, school *school) (passed int) {
	outcomes, moments := map[storage.Outcome]int{}, ""
	for _, c := range school.certificates {
		for _, e := range school.tell(ctx, c, 1, "").Ensured {
			outcomes[e.Outcome]++
			if c.Person == "teacher-002" { // whose reminders lie on both sides of a change of the clocks
				moments += e.ScheduledOn.Format(", 2 January 15:04 UTC")
			}
		}
	}
	fmt.Printf("%d certificates on %s: %d reminders are new, %d were known.\n",
		len(school.certificates), firstDay.Format(time.DateOnly), outcomes[storage.Created], outcomes[storage.Unchanged])
	fmt.Printf("Always at 09:00 where people are: teacher-002 in America/New_York is reminded on%s.\n\n", strings.TrimPrefix(moments, ","))
	return outcomes[causes.OffsetPassed]
}

// runWorker lets a child process work from now on, until the end or its death, and
// passes on what it prints.
func runWorker(ctx context.Context, s settings, now time.Time) {
	child := exec.CommandContext(ctx, os.Args[0], "-db", s.db, "-out", s.out,
		"-worker", now.Format(time.RFC3339), "-stall="+strconv.FormatBool(s.stall))
	child.Stderr = os.Stderr
	out := must(child.StdoutPipe())
	check(child.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == calling {
			check(child.Process.Kill())
			continue
		}
		fmt.Println(lines.Text())
	}
	if err := child.Wait(); !s.stall {
		check(err)
	}
}

// settle polls once, and prints what became of the mails in doubt.
func settle(ctx context.Context, s settings, now time.Time) {
	school := open(ctx, s, now)
	defer school.store.Close()
	check(belfry.NewPoller(school.store, nil, school.reminders, school.out).Drain(ctx))
	fmt.Printf("Settled: %d had arrived (their files were there) and were not sent again, %d had not and were sent, %d wait for a person.\n\n",
		school.number(ctx, "outgoing_message WHERE resolution = 'StatusLookup' AND calls = 1"),
		school.number(ctx, "outgoing_message WHERE resolution = 'Absent' AND calls > 1"),
		school.number(ctx, "outgoing_message WHERE is_on_support_hold"))
}

// work polls until nothing is due, moves the clock, and polls again.
func work(ctx context.Context, s settings) {
	school := open(ctx, s, must(time.Parse(time.RFC3339, s.worker)))
	defer school.store.Close()
	poller := belfry.NewPoller(school.store, nil, school.reminders, school.out)
	month, renewed := school.clk.Now().Month(), false
	for ; school.clk.Now().Before(lastDay); school.clk.Add(6 * time.Hour) {
		now := school.clk.Now()
		if !renewed && !now.Before(renewedOn) {
			renewed = true
			c := school.get(renewedID)
			c.Expires = renewedUntil
			school.tell(ctx, c, 2, fmt.Sprintf("renewed on %s until %s", now.Format("2 January"), renewedUntil))
			fmt.Printf("\n%s: %s was renewed until %s.\n", now.Format(time.DateOnly), renewedID, renewedUntil)
		}
		check(poller.Drain(ctx))
		if now.Month() != month {
			month = now.Month()
			fmt.Printf("  %s  %3d mails so far\n", now.Format(time.DateOnly), school.number(ctx, sent))
		}
	}
}

// stalling is the channel. On the morning on which the worker dies it sends two
// mails, and ends no call.
type stalling struct {
	*file.Channel
	on             bool
	clk            clock.Clock
	calls, arrived atomic.Int64
}

// Send sends, or stops for ever.
func (c *stalling) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if !c.on || c.clk.Now().Before(killedOn) {
		return c.Channel.Send(ctx, m)
	}
	if c.calls.Add(1) <= 2 {
		_, err := c.Channel.Send(ctx, m)
		check(err)
		if c.arrived.Add(1) == 2 {
			fmt.Println(calling)
		}
	}
	select {} // until it is killed
}

// report prints the table at the end.
func report(ctx context.Context, s settings, school *school, passed int) {
	seen, doubled := map[string]bool{}, 0
	mails := must(filepath.Glob(filepath.Join(s.out, "*.eml")))
	for _, name := range mails { // the text names the person's certificate, its date and the days
		_, text, _ := strings.Cut(string(must(os.ReadFile(name))), "\r\n\r\n")
		if seen[text] {
			doubled++
		}
		seen[text] = true
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "reminders created\t%d\n", school.number(ctx, "automation_scheduler"))
	fmt.Fprintf(t, "mails sent\t%d\n", len(mails))
	for _, why := range [][2]string{
		{"Superseded", "the certificate was renewed"}, {"SourceNoLongerValid", "the person has left"}, {"NoRecipients", "there is no address"},
	} {
		n := school.number(ctx, "automation_scheduler WHERE status = 'Deactivated' AND reason_code = '"+why[0]+"'")
		fmt.Fprintf(t, "skipped\t%d\t%s: %s\n", n, why[0], why[1])
	}
	fmt.Fprintf(t, "skipped\t%d\tOffsetPassed: their moment was over before the import\n", passed)
	fmt.Fprintf(t, "doubled\t%d\n", doubled)
	fmt.Fprintf(t, "lost\t%d\n", school.number(ctx, "automation_scheduler WHERE status = 'Completed'")-len(mails))
	var next, source string
	check(school.store.DB().QueryRowContext(ctx, `SELECT scheduled_local_date || ' ' || send_at || ' ' || time_zone, source
		FROM automation_scheduler WHERE due_on IS NOT NULL ORDER BY due_on LIMIT 1`).Scan(&next, &source))
	fmt.Fprintf(t, "next\t%s\t%s\n", next, source)
	check(t.Flush())
}

func must[T any](got T, err error) T {
	check(err)
	return got
}

func check(err error) {
	if err != nil {
		log.Fatal("demo: ", err)
	}
}
