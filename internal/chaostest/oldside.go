package chaostest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage/driver"
)

// What a process beside Belfry's workers is told as well.
const (
	nameVariable   = "BELFRY_CHAOS_NAME"
	seedVariable   = "BELFRY_CHAOS_SEED"
	logVariable    = "BELFRY_CHAOS_LOG"
	startVariable  = "BELFRY_CHAOS_START"
	visitsVariable = "BELFRY_CHAOS_VISITS"
	spanVariable   = "BELFRY_CHAOS_SPAN"
)

// old is a process of the old scheduler. By the role oldmail it works in Go and
// makes a mail in the transaction that asks the guard, to be sent later. By oldlog it
// knows only the SQL that the documentation gives it, has no transaction to make a
// mail in, and sends at once, which is a line in a log.
type old struct {
	name       string
	sqlite     bool
	mails      bool
	host       *Host
	guard      *automation.Scheduler
	statements map[string]string
	log        *os.File
	rnd        *rand.Rand
	runs       []occasion
	tries      int
	slow       int // a mail takes fewer milliseconds than that
}

// beside is the old scheduler, or what moves the work away from it.
func beside(ctx context.Context, role string, d Driver, h *Host) error {
	seed, errSeed := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	start, errStart := time.Parse(time.RFC3339, os.Getenv(startVariable))
	visits, errVisits := strconv.Atoi(os.Getenv(visitsVariable))
	span, errSpan := time.ParseDuration(os.Getenv(spanVariable))
	for _, err := range []error{errSeed, errStart, errVisits, errSpan} {
		must(err)
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	c := calendar{start, visits, span}
	reminders, _ := guarded(h.Store, os.Getenv(providerVariable))
	alive := make(chan struct{})
	go func() {
		defer close(alive)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	fmt.Println("ready")
	if role == "move" {
		(&moving{reminders, rnd, c.candidates(), c.occasions()}).run(ctx, alive)
		return nil
	}
	log, err := os.OpenFile(os.Getenv(logVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(err)
	o := &old{
		name: os.Getenv(nameVariable), sqlite: d.SQLite, mails: strings.HasPrefix(role, "oldmail"),
		host: h, guard: reminders, statements: published(), log: log, rnd: rnd, runs: c.occasions(), slow: 20,
	}
	if strings.HasSuffix(role, "drain") {
		o.slow = 1
		return o.pass(ctx, o.due(start))
	}
	return o.run(ctx, alive)
}

// run does the runs of its period, in any order, and then those that it has missed.
func (o *old) run(ctx context.Context, alive <-chan struct{}) error {
	period := o.due(driver.Now(o.host.Store).Add(-pastEverything))
	for {
		if err := o.pass(ctx, period); err != nil {
			return err
		}
		period = nil
		select {
		case <-alive:
			return nil
		case <-clock.New().After(5 * time.Millisecond):
		}
	}
}

// due are the runs of the calendar whose moment has come since.
func (o *old) due(since time.Time) []occasion {
	now := driver.Now(o.host.Store)
	out := slices.DeleteFunc(slices.Clone(o.runs), func(r occasion) bool { return r.at.Before(since) || r.at.After(now) })
	o.rnd.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// pass asks for runs, and for those that are overdue, and delivers what it gets. A
// statement that fails, because somebody else writes, is left for the next pass.
func (o *old) pass(ctx context.Context, runs []occasion) error {
	for _, r := range append(runs, o.overdue(ctx)...) {
		o.tries++
		var err error
		if o.mails {
			err = o.mail(ctx, r)
		} else {
			err = o.send(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *old) overdue(ctx context.Context) (out []occasion) {
	for _, kind := range []string{"visit", "round"} {
		found, err := o.ask(ctx, o.host, "overdue", occasion{kind: kind})
		if err != nil {
			return nil
		}
		for _, key := range found {
			out = append(out, occasion{key: key, kind: kind})
		}
	}
	return out
}

// work is what building or sending takes.
func (o *old) work() {
	<-clock.New().After(time.Duration(o.rnd.IntN(o.slow)) * time.Millisecond)
}

// mail creates a mail with the run, both or neither.
func (o *old) mail(ctx context.Context, r occasion) error {
	o.work()
	tx, err := o.host.Begin(ctx)
	if err != nil {
		return nil
	}
	defer func() { _ = tx.Rollback(ctx) }()
	answers, err := o.guard.WithTx(tx.Joined()).Rollout().DeliverForOldScheduler(ctx, "", automation.OldRun{Key: r.key, Type: r.kind, Coordinates: []byte(o.coordinates())})
	if err != nil || !answers[0].Granted {
		return nil
	}
	if err := tx.Exec(ctx, "INSERT INTO old_mail (run, sender) VALUES ($1, $2)", r.key, o.try()); err != nil {
		return err
	}
	_ = tx.Commit(ctx)
	return nil
}

// try is a name for the delivery that is tried, and never for another one.
func (o *old) try() string { return fmt.Sprintf("%s/%d", o.name, o.tries) }

func (o *old) coordinates() string { return `{"try":"` + o.try() + `"}` }

// send commits the guard first and sends then. It says what it is about to do.
func (o *old) send(ctx context.Context, r occasion) error {
	if err := o.note("asks", r.key); err != nil {
		return err
	}
	tx, err := o.host.Begin(ctx)
	if err != nil {
		return nil
	}
	defer func() { _ = tx.Rollback(ctx) }()
	granted, err := o.ask(ctx, tx, "guard", r)
	if err != nil || len(granted) == 0 {
		return nil
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("%s has no answer about %s: %w", o.name, r.key, err)
	}
	o.work()
	return o.note("sent", r.key)
}

func (o *old) note(what, key string) error {
	_, err := fmt.Fprintln(o.log, what, o.try(), key)
	if err == nil && what == "sent" {
		err = o.log.Sync()
	}
	return err
}

var sqlBlock = regexp.MustCompile("(?s)```sql\n-- (\\w+): .*?\n(.*?)```")

// published are the statements that the documentation gives to old schedulers.
func published() map[string]string {
	page, err := os.ReadFile("../../docs/migrating.md")
	must(err)
	out := map[string]string{}
	for _, block := range sqlBlock.FindAllStringSubmatch(string(page), -1) {
		out[block[1]] = block[2]
	}
	return out
}

var placeholder = regexp.MustCompile(`:(\w+)`)

// ask runs a published statement and returns the first column of its rows.
func (o *old) ask(ctx context.Context, db DB, name string, r occasion) (out []string, err error) {
	now := driver.Now(o.host.Store)
	values := map[string]any{
		"scope": "", "key": r.key, "type": r.kind, "setting": r.kind, "unit": r.unit, "coordinates": o.coordinates(), "now": now,
	}
	if o.sqlite {
		values["now"] = now.UnixMicro()
	}
	var args []any
	places := map[string]int{}
	text := placeholder.ReplaceAllStringFunc(o.statements[name], func(name string) string {
		if places[name] == 0 {
			args = append(args, values[name[1:]])
			places[name] = len(args)
		}
		return fmt.Sprintf("$%d", places[name])
	})
	rows, err := db.Rows(ctx, text, args...)
	for _, row := range rows {
		out = append(out, row[0].(string))
	}
	return out, err
}
