package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/notify"
)

// show plans the campaign, lets a worker send it and kills that worker in the
// middle, and checks what came of it.
func show(ctx context.Context, s settings, stdout io.Writer) error {
	if s.n < 5000 {
		return errors.New("-n is less than 5000, which has no middle")
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if err := writeMembers(s); err != nil {
		return err
	}
	before, err := readJournal(filepath.Join(s.dir, "journal.txt"))
	if err != nil {
		return err
	}
	c, err := openClub(ctx, s, opening)
	if err != nil {
		return err
	}
	defer c.store.Close()
	d := &demonstration{club: c, s: s, b: newBar(stdout, s.n), now: opening}
	if err := d.plan(ctx); err != nil {
		return err
	}
	if err := d.play(ctx, len(before)); err != nil {
		return err
	}
	return d.check(ctx, stdout, len(before))
}

// demonstration is one run of the program.
type demonstration struct {
	*club
	s   settings
	b   *bar
	now time.Time // of the last worker

	raised time.Time // when the alarm was given, on the real clock; zero: not yet
	alone  bool      // the campaign is done already, so there is no crowd to overtake
}

func (d *demonstration) plan(ctx context.Context) error {
	job, payload, err := d.club.plan(ctx, d.s)
	if err != nil {
		return err
	}
	d.b.say("%d members are in the file; %d of them have no address that can be one, the first in line %d.",
		payload.Recipients, payload.SkippedCount, payload.Skipped[0].Line)
	forecast, err := d.out.Campaigns().DryRun(ctx, job, 1)
	if err != nil {
		return err
	}
	d.b.say("A dry run: %d mails would be made, %d members are in the file twice. The first mail says:\n  %s",
		forecast.Generated, forecast.Repeated, forecast.Samples[0].Content.Text[len("Dear "):])
	return nil
}

// play runs a worker that dies half way, and one that goes on.
func (d *demonstration) play(ctx context.Context, before int) error {
	d.alone = before > 0
	if !d.alone {
		if err := d.runWorker(ctx, d.s.n/2); err != nil {
			return err
		}
		doubt, err := d.count(ctx, "SELECT count(*) FROM outgoing_message WHERE status = 'Sending' AND call_started_on IS NOT NULL")
		if err != nil {
			return err
		}
		p, err := d.out.Campaigns().Progress(ctx, "", guid)
		if err != nil {
			return err
		}
		d.b.say("\nThe worker was killed (SIGKILL) in the middle of sending: %d of %d members are done, %d mails are in doubt.\n",
			p.Done, p.Recipients, doubt)
		if doubt == 0 || p.Status == notify.StatusGenerated {
			return fmt.Errorf("that was not in the middle: %s with %d in doubt", p.Status, doubt)
		}
	}
	return d.runWorker(ctx, 0)
}

// runWorker lets a child process work until the end or its death.
func (d *demonstration) runWorker(ctx context.Context, stall int) error {
	sent, err := readJournal(filepath.Join(d.s.dir, "journal.txt"))
	if err != nil {
		return err
	}
	d.b.earlier = int64(len(sent))
	child := exec.CommandContext(ctx, os.Args[0], "-worker", "-dir", d.s.dir, "-n", strconv.Itoa(d.s.n),
		"-now", d.now.Add(2*time.Minute).Format(time.RFC3339Nano), "-stall", strconv.Itoa(stall))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	lines, killed := bufio.NewScanner(out), false
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return err
		}
		if killed = killed || l.Calling; l.Calling {
			err = child.Process.Kill()
		} else {
			err = d.follow(ctx, l, stall == 0)
		}
		if err != nil {
			return err
		}
	}
	if err := child.Wait(); err != nil && !killed {
		return fmt.Errorf("the worker ended with %w", err)
	}
	return nil
}

// follow shows a line of the worker, and raises the alarm once three quarters of
// the members are done.
func (d *demonstration) follow(ctx context.Context, l line, may bool) error {
	d.now = l.Now
	d.b.show(l)
	if l.Alarm {
		waiting, err := d.count(ctx, "SELECT count(*) FROM outgoing_message WHERE due_on IS NOT NULL")
		if err != nil {
			return err
		}
		d.b.say("\nThe alarm is out, %v after it was given, in poll %d. %d mails wait, and %d members are to come.\n",
			time.Since(d.raised).Round(time.Millisecond), l.Poll, waiting, d.s.n-l.Made)
	}
	if !may || d.alone || !d.raised.IsZero() || l.Made < d.s.n*3/4 {
		return nil
	}
	d.raised = time.Now()
	d.clk.Set(l.Now)
	d.b.say("\nThere is a fire in the sauna: an urgent message is given to Belfry, in poll %d.", l.Poll)
	return d.raiseAlarm(ctx)
}
