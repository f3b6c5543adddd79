package chaostest

import (
	"context"
	"database/sql"
	"fmt"
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
	if testlevel.Has(t, testlevel.Full) {
		return 2000, 16
	}
	return 240, 4
}

// I-22: pollers of Belfry, processes of an old scheduler and one that moves the work
// between them are killed at random moments and started again. Each run is delivered
// by one side, once. Only what a killed sender without a transaction had in its hands,
// at most one run of each, is lost instead of doubled, and the guard names its sender.
func TestI22_KilledSchedulersDeliverEachRunByOneSide(t *testing.T) {
	t.Parallel()
	onEach(t, handover)
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

func handover(t *testing.T, adapter, dsn string) {
	visits, rounds := handoverSize(t)
	h := &changing{
		arena: &arena{t: t, adapter: adapter, dsn: dsn, provider: newProvider(t), rnd: random(t)},
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
func (h *changing) with(do func(context.Context, *automation.Scheduler, *sql.DB) error) {
	h.t.Helper()
	store, err := open(h.t.Context(), h.adapter, h.dsn, h.offset)
	if err != nil {
		h.t.Fatal(err)
	}
	defer store.Close()
	reminders, _ := guarded(store, h.provider.URL)
	if err := do(h.t.Context(), reminders, store.(interface{ DB() *sql.DB }).DB()); err != nil {
		h.t.Fatal(err)
	}
}

// prepare makes the runs, all of them the old scheduler's, and the table of its
// mails; and moves the parts to stages of the first day.
func (h *changing) prepare() {
	h.with(func(ctx context.Context, reminders *automation.Scheduler, db *sql.DB) error {
		if _, err := db.ExecContext(ctx, "CREATE TABLE old_mail (run text, sender text)"); err != nil {
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
	h.with(func(ctx context.Context, reminders *automation.Scheduler, _ *sql.DB) error {
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

func bring(ctx context.Context, reminders *automation.Scheduler, part automation.RolloutPart, stage automation.Stage) error {
	now, err := reminders.Rollout().MoveRollout(ctx, part, automation.StageDesign, mover, &automation.ActionOptions{DryRun: true})
	for at := now.From; err == nil && at != stage; {
		at = min(at+1, stage)
		_, err = reminders.Rollout().MoveRollout(ctx, part, at, mover, nil)
	}
	return err
}

// decide is what people do: they cancel rows whose runs the other side has or will
// deliver, and ensure again what Health says is lost.
func (h *changing) decide() {
	h.with(func(ctx context.Context, reminders *automation.Scheduler, _ *sql.DB) error {
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
