package chaostest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
)

// handoverSize is how many visits there are, and how many rounds of kills.
func handoverSize(t testing.TB) (visits, kills int) {
	if testlevel.Has(t, testlevel.Nightly) {
		return 2000, 16
	}
	return 240, 4
}

// changing is an arena of two schedulers.
type changing struct {
	*arena
	calendar
	log    string          // of the old senders
	lives  int             // how many processes there were
	killed map[string]bool // by name

	conflicts int // that were cancelled here
	slept     int // series that Health found asleep behind their part
}

// life is a process.
type life struct {
	role, name string
	*exec.Cmd
}

// Schedulers has pollers of Belfry, processes of an old scheduler and one that moves the
// work between them killed at random moments and started again. Each run is delivered by
// one side, once. Only what a killed sender without a transaction had in its hands, at
// most one run of each, is lost instead of doubled, and the guard names its sender.
func Schedulers(t *testing.T, d Driver) {
	visits, rounds := handoverSize(t)
	h := &changing{
		arena: newArena(t, d),
		log:   filepath.Join(t.TempDir(), "old.log"), killed: map[string]bool{},
	}
	h.calendar = calendar{clock.New().Now().UTC().Truncate(time.Minute), visits, time.Duration(rounds+2) * pastEverything}
	h.prepare()
	for range rounds {
		h.offset += pastEverything
		h.round()
	}
	h.bring()
	for i := range 20 {
		h.offset += pastEverything
		h.decide()
		h.release()
		for _, l := range []life{h.live("guardeddrain"), h.live([]string{"oldlogdrain", "oldmaildrain"}[i%2])} {
			if err := l.Wait(); err != nil {
				t.Fatal(l.role, err)
			}
		}
		if h.offset > h.span && h.settled() {
			break
		}
	}
	h.account()
}

// with opens the database in this process.
func (h *changing) with(do func(context.Context, *automation.Scheduler, DB) error) {
	h.t.Helper()
	h.on(func(ctx context.Context, host *Host) error {
		reminders, _ := guarded(host.Store, h.provider.URL)
		return do(ctx, reminders, host)
	})
}

// prepare makes the runs, all of them the old scheduler's, and the table of its
// mails; and moves the parts to stages of the first day.
func (h *changing) prepare() {
	h.with(func(ctx context.Context, reminders *automation.Scheduler, db DB) error {
		if err := db.Exec(ctx, "CREATE TABLE old_mail (run text, sender text)"); err != nil {
			return err
		}
		for some := range slices.Chunk(h.candidates(), 200) {
			if _, err := reminders.Ensure(ctx, some...); err != nil {
				return err
			}
		}
		for _, part := range parts() {
			if err := bring(ctx, reminders, part, automation.Stage(h.rnd.IntN(5))); err != nil {
				return err
			}
		}
		return nil
	})
}

// live starts a process. The clock of one that moves parts goes slow, so that it
// takes runs whose moment has come for the others.
func (h *changing) live(role string) life {
	h.lives++
	name := fmt.Sprintf("p%03d", h.lives)
	more := []string{
		nameVariable + "=" + name, seedVariable + "=" + fmt.Sprint(h.rnd.Uint64()), logVariable + "=" + h.log,
		startVariable + "=" + h.begin.Format(time.RFC3339), visitsVariable + "=" + fmt.Sprint(h.visits), spanVariable + "=" + h.span.String(),
	}
	if role == "move" {
		slow := time.Duration(h.rnd.Int64N(int64(pastEverything)))
		more = append(more, offsetVariable+"="+(h.offset-slow).String())
	}
	return life{role, name, h.start(role, more...)}
}

func (h *changing) kill(l life) {
	if err := l.Process.Kill(); err != nil { // SIGKILL
		h.t.Fatal(err)
	}
	_ = l.Wait()
	if state := l.ProcessState.String(); state != "signal: killed" {
		h.t.Errorf("%s %s ended by itself: %s", l.role, l.name, state)
	}
	h.killed[l.name] = true
	h.kills++
}

// round starts everybody, kills one after the other at random moments, and starts
// some of them again.
func (h *changing) round() {
	roles := []string{"guarded", "guarded", "oldlog", "oldmail", "move"}
	h.rnd.Shuffle(len(roles), func(i, j int) { roles[i], roles[j] = roles[j], roles[i] })
	var living []life
	for _, role := range roles {
		living = append(living, h.live(role))
	}
	for again := 4; len(living) > 0; {
		moment := time.NewTimer(time.Duration(h.rnd.IntN(80)) * time.Millisecond)
		<-moment.C
		i := h.rnd.IntN(len(living))
		h.kill(living[i])
		if again > 0 && h.rnd.IntN(2) == 0 {
			again--
			living[i] = h.live(living[i].role)
			continue
		}
		living = slices.Delete(living, i, i+1)
	}
}

// bring finishes moves that were cut off, and then some parts are cut over, the
// others back.
func (h *changing) bring() {
	h.with(func(ctx context.Context, reminders *automation.Scheduler, _ DB) error {
		list, err := reminders.Rollout().Rollouts(ctx, "")
		if err != nil {
			return err
		}
		for _, at := range list {
			if at.Moving {
				if _, err := reminders.Rollout().MoveRollout(ctx, at.RolloutPart, at.Stage, mover, nil); err != nil {
					return err
				}
			}
		}
		for i, part := range parts() {
			if err := bring(ctx, reminders, part, final(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// final is the stage of the part of that number in the end.
func final(i int) automation.Stage {
	return []automation.Stage{automation.StageCutOver, automation.StageShadow}[i%2]
}

// bring moves a part to a stage, which is its own from then on: one that only follows a
// wider part would leave again with it.
func bring(ctx context.Context, reminders *automation.Scheduler, part automation.RolloutPart, stage automation.Stage) error {
	now, err := reminders.Rollout().MoveRollout(ctx, part, automation.StageDesign, mover, &automation.ActionOptions{DryRun: true})
	for at := now.From; err == nil; {
		at = min(at+1, stage)
		if _, err = reminders.Rollout().MoveRollout(ctx, part, at, mover, nil); at == stage {
			if now.From == stage && errors.Is(err, automation.ErrActionRefused) {
				return nil // its own already
			}
			break
		}
	}
	return err
}

// decide is what people do: they cancel rows whose runs the other side has or will
// deliver, and ensure again what Health says is lost.
func (h *changing) decide() {
	h.with(func(ctx context.Context, reminders *automation.Scheduler, _ DB) error {
		list, _, err := reminders.Rollout().OwnershipConflicts(ctx, "", storage.Page{Limit: 1000})
		for _, c := range list {
			if err := reminders.Support().Cancel(ctx, "", c.Key, mover); err != nil {
				return err
			}
		}
		h.conflicts += len(list)
		if err != nil {
			return err
		}
		health, err := reminders.Health(ctx, storage.Everywhere())
		if h.slept += len(health.Lost); err == nil && len(health.Lost) > 0 {
			_, err = reminders.Ensure(ctx, h.candidates()[h.visits:]...)
		}
		return err
	})
}

// settled reports whether nothing is left to do about the runs of the calendar.
func (h *changing) settled() bool {
	owners, open := h.owners(), 0
	for _, r := range h.occasions() {
		if owners[r.key].status != automation.OwnershipDeliveryCreated {
			open++
		}
	}
	waiting := h.query("SELECT 'all', count(*) FROM outgoing_message WHERE status <> 'SentToProvider'")["all"] +
		h.query("SELECT 'all', count(*) FROM notification_scheduler WHERE status <> 'Dispatched'")["all"] +
		h.query("SELECT 'all', count(*) FROM notification_job WHERE status <> 'Generated'")["all"]
	return open+waiting == 0
}

// owner is a row of the guard.
type owner struct{ side, status, try string }

func (h *changing) owners() map[string]owner {
	out := map[string]owner{}
	for row := range h.query(`SELECT key || ' ' || owner_type || ' ' || status || ' ' || CASE WHEN owner_type = 'OldScheduler' THEN coalesce(CAST(coordinates AS text), '') ELSE '' END, 1 FROM report_run_ownership`) {
		column := strings.SplitN(row, " ", 4)
		out[column[0]] = owner{column[1], column[2], strings.TrimSuffix(strings.TrimPrefix(column[3], `{"try":"`), `"}`)}
	}
	return out
}

// delivered are the deliveries of a run, by those who made them.
type delivered struct {
	old []string // tries of the old scheduler: mails and lines
	new int      // calls of the provider
}

// account compares what the guard says about each run with its deliveries.
func (h *changing) account() {
	last, all := h.deliveries()
	sides := map[string]int{}
	var lost []string
	owners := h.owners()
	for key, o := range owners {
		d := all[addressee(key)]
		switch n := len(d.old) + d.new; {
		case n > 1:
			h.t.Errorf("%s was delivered %d times here and by %v there: %+v", key, d.new, d.old, o)
		case n == 0 && o.status == automation.OwnershipDeliveryCreated && h.killed[sender(o.try)] && last[sender(o.try)] == o.try+" "+key:
			lost = append(lost, o.try+" "+key)
		case n == 0 && o.status == automation.OwnershipDeliveryCreated:
			h.t.Errorf("%s was not delivered, but the guard says %+v, and the last try of that sender is %q", key, o, last[sender(o.try)])
		case n == 1 && o != (owner{string(side(d)), automation.OwnershipDeliveryCreated, strings.Join(d.old, "")}):
			h.t.Errorf("%s was delivered %d times here and by %v there, but the guard says %+v", key, d.new, d.old, o)
		case n == 1:
			sides[o.side]++
		}
		delete(all, addressee(key))
	}
	for to, d := range all {
		h.t.Errorf("%s got %+v, of which the guard knows nothing", to, d)
	}
	for _, r := range h.occasions() {
		if o := owners[r.key]; o.status != automation.OwnershipDeliveryCreated {
			h.t.Errorf("%s was delivered by neither: %+v", r.key, o)
		}
	}
	h.accountSeries()
	changed := h.query("SELECT 'all', count(*) FROM report_run_ownership WHERE owner_version > 1")["all"]
	h.t.Logf("%s: %d kills of %d processes, %d runs, delivered %v, %d changed owner, %d conflicts, %d series slept, lost in killed hands: %v",
		h.driver.Name, h.kills, h.lives, len(owners), sides, changed, h.conflicts, h.slept, lost)
	for _, side := range []automation.Owner{automation.OldScheduler, automation.AutomationScheduler} {
		if sides[string(side)]*20 < len(owners) || changed*10 < len(owners) {
			h.t.Errorf("this was no race: delivered %v, %d of %d changed owner", sides, changed, len(owners))
		}
	}
}

// accountSeries sees that each series goes on here that was cut over.
func (h *changing) accountSeries() {
	ahead := h.query("SELECT source, count(*) FROM automation_scheduler WHERE kind = 'round' AND status = 'Pending' GROUP BY source")
	stages := map[string]automation.Stage{}
	for i, part := range parts() {
		if part.Type == "round" {
			stages[part.Source] = final(i)
		}
	}
	for i := range rounds {
		source := fmt.Sprintf(roundName, i)
		stage, own := stages[source]
		if !own {
			stage = stages[""]
		}
		if want := map[bool]int{true: 1}[stage == automation.StageCutOver]; ahead[source] != want {
			h.t.Errorf("%s is at stage %s and has %d rows that wait for their moment, want %d", source, stage, ahead[source], want)
		}
	}
}

func side(d delivered) automation.Owner {
	if d.new > 0 {
		return automation.AutomationScheduler
	}
	return automation.OldScheduler
}

// sender is the process that tried.
func sender(try string) string {
	name, _, _ := strings.Cut(try, "/")
	return name
}

// deliveries are all that were made, by whom they reached, and the last try of each
// sender without a transaction.
func (h *changing) deliveries() (last map[string]string, all map[string]delivered) {
	last, all = map[string]string{}, map[string]delivered{}
	add := func(try, key string) {
		d := all[addressee(key)]
		d.old = append(d.old, try)
		all[addressee(key)] = d
	}
	log, err := os.ReadFile(h.log)
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		word := strings.Fields(line)
		if len(word) != 3 {
			h.t.Fatalf("a line of the old scheduler is %q", line)
		}
		if word[0] == "asks" {
			last[sender(word[1])] = word[1] + " " + word[2]
		} else {
			add(word[1], word[2])
		}
	}
	for row, n := range h.query("SELECT sender || ' ' || run, count(*) FROM old_mail GROUP BY 1") {
		try, key, _ := strings.Cut(row, " ")
		for range n {
			add(try, key)
		}
	}
	for _, c := range h.provider.log() {
		to, _, _ := strings.Cut(c.To, "@")
		d := all[to]
		d.new++
		all[to] = d
	}
	return last, all
}
