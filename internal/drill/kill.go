package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// childVariable names, in the environment of a process that is to be killed, the
// database that it sends from.
const childVariable = "BELFRY_DRILL_CHILD"

// killedCalls is how many calls each channel of such a process makes at once.
const killedCalls = 4

// killedLease is short, so that what killed processes held is soon in other hands.
const killedLease = 2 * time.Second

// narrow is a channel that makes few calls at once.
type narrow struct{ channel.Channel }

func (narrow) MaxCalls() int { return killedCalls }

// narrows are the two channels; called hears of each call, which takes some time.
func narrows(takes time.Duration, called func()) (all []channel.Channel) {
	for _, key := range []string{wellKey, badKey} {
		all = append(all, narrow{channel.Func(key, func(ctx context.Context, _ channel.Message) (channel.Receipt, error) {
			called()
			return channel.Receipt{}, pass(ctx, takes)
		})})
	}
	return all
}

// child sends until it is killed, and says so with a line for each call.
func child(ctx context.Context, dsn string) error {
	s, err := open(ctx, dsn, nil)
	if err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	out := notify.New(s, &notify.Options{Logger: quiet}, narrows(callTakes/2, func() { fmt.Fprintln(os.Stdout, "call") })...)
	o := &belfry.Options{Batch: 20, InFlight: 40, Lease: killedLease, Logger: quiet} // the next one has rows, too
	return errors.Join(belfry.NewPoller(s, o, out).Run(ctx), s.Close())
}

// kill is a day on which processes are killed while they send.
func kill(ctx context.Context, g *ground) (figures []figure, err error) {
	err = g.with(ctx, nil, func(s store, dsn string) error {
		for _, channel := range []string{wellKey, badKey} {
			if err := g.backlog(ctx, s, 100*g.kills, "acme", channel); err != nil {
				return err
			}
		}
		worst := 0
		for i := range g.kills {
			left, err := killed(ctx, s, dsn, 10+7*i)
			if err != nil {
				return err
			}
			worst = max(worst, left)
		}
		if err := g.takeOver(ctx, s); err != nil {
			return err
		}
		held, err := doubts(ctx, s)
		figures = []figure{
			atMost(fmt.Sprintf("%d kills: doubts for one and a channel,", g.kills), worst, killedCalls),
			atMost(fmt.Sprintf("%d kills: doubts in all,", g.kills), held, 2*killedCalls*g.kills),
			atLeast("doubts in all (or no kill proved anything):", held, 1),
		}
		return err
	})
	return figures, err
}

// killed starts a process, kills it after so many calls, and returns how many calls of
// one channel it has left open.
func killed(ctx context.Context, s store, dsn string, calls int) (left int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	before := map[string]int{}
	for _, channel := range []string{wellKey, badKey} {
		if before[channel], err = openCalls(ctx, s, channel); err != nil {
			return 0, err
		}
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childVariable+"="+dsn)
	cmd.Stderr = os.Stderr
	said, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(said)
	for n := 0; n < calls && lines.Scan(); n++ {
	}
	moment := time.Duration(rand.Int64N(int64(callTakes)))                // not just when a call begins
	err = errors.Join(lines.Err(), pass(ctx, moment), cmd.Process.Kill()) // SIGKILL
	_ = cmd.Wait()                                                        // it says that it was killed
	err = errors.Join(err, pass(ctx, callTakes))                          // a COMMIT under way may still succeed
	for channel, n := range before {
		now, countErr := openCalls(ctx, s, channel)
		err = errors.Join(err, countErr)
		left = max(left, now-n)
	}
	return left, err
}

// openCalls counts the calls of dead processes whose outcome is unknown.
func openCalls(ctx context.Context, s store, channel string) (int, error) {
	return count(ctx, s, "SELECT count(*) FROM outgoing_message WHERE kind = '"+channel+"' AND (status = '"+
		notify.StatusOutcomeUnknown+"' OR status = '"+notify.StatusSending+"' AND call_started_on IS NOT NULL)")
}

// takeOver lets this process find what the dead ones have left.
func (g *ground) takeOver(ctx context.Context, s store) error {
	out := notify.New(s, &notify.Options{Logger: g.log}, narrows(0, func() {})...)
	stop := g.run(ctx, s, belfry.Options{Lease: killedLease}, out)
	err := until(ctx, "no message is in dead hands", func() (bool, error) {
		n, err := count(ctx, s, "SELECT count(*) FROM outgoing_message WHERE status IN ('"+notify.StatusSending+"', '"+notify.StatusCreated+"')")
		return n == 0, err
	})
	return errors.Join(err, stop())
}
