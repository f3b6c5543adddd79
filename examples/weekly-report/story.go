package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

var firstDay = at(time.February, 22, 6) // a Sunday

func at(month time.Month, day, hour int) time.Time {
	return time.Date(2026, month, day, hour, 0, 0, 0, time.UTC)
}

// story is eleven weeks of the firm.
type story struct {
	w      io.Writer
	clk    *clock.Mock
	old    *oldScheduler
	new    *scheduler
	mails  string
	ledger *ledger
	stages map[string]string // of each branch, as the table names them
	hours  int
}

// play tells the story; each step returns an error where it does not end as it
// should.
func (s *story) play(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.design, s.until(time.March, 1, 0),
		s.shadow, s.until(time.March, 12, 0),
		s.compareAndMend, s.until(time.March, 15, 0),
		s.pick, s.until(time.March, 22, 0),
		s.scheduled, s.until(time.March, 29, 0),
		s.othersRunNow, s.until(time.April, 1, 0),
		s.othersScheduled, s.until(time.April, 5, 20),
		s.outage, s.until(time.April, 6, 2),
		s.sydneyGoesBack, s.until(time.April, 6, 5),
		s.trespass, s.until(time.April, 6, 8),
		s.resolve, s.until(time.April, 7, 0),
		s.forwardAgain, s.until(time.April, 19, 0),
		s.cutOver, s.until(time.May, 3, 0),
		s.backTo3, s.until(time.May, 10, 0),
		s.settled,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	s.say("\nEach report counts for the stage that its branch had at its moment. In stage 3 the old scheduler")
	s.say("sent what Sydney's way back returned to it, and what its forgotten copy took.\n")
	return s.ledger.table(s.w)
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s.w, format+"\n", args...) }

// happens says something with its date in front.
func (s *story) happens(format string, args ...any) {
	s.say("%s  "+format, append([]any{s.clk.Now().Format("Mon _2 Jan 15:04")}, args...)...)
}

// until lets the hours pass, and counts the mails of that time.
func (s *story) until(month time.Month, day, hour int) func(context.Context) error {
	return func(ctx context.Context) error {
		var lines []string
		for ; s.clk.Now().Before(at(month, day, hour)); s.clk.Add(time.Hour) {
			news, err := s.hour(ctx)
			if err != nil {
				return err
			}
			lines = append(lines, news...)
		}
		if len(lines) > 0 {
			old := strings.Count(strings.Join(lines, "\n"), "old: ")
			s.say("                  mails: %d by the old scheduler, %d by Belfry", old, len(lines)-old)
		}
		return nil
	}
}

// hour lets both sides work. Who comes first changes from hour to hour.
func (s *story) hour(ctx context.Context) ([]string, error) {
	now := s.clk.Now()
	if play, err := busy(now); err != nil || !play {
		return nil, err
	}
	if err := s.ledger.expect(now, s.stages); err != nil {
		return nil, err
	}
	sides := []func(context.Context) error{
		func(ctx context.Context) error { return s.old.tick(ctx, now) },
		s.belfry,
	}
	s.hours++
	for i := range sides {
		if err := sides[(i+s.hours)%2](ctx); err != nil {
			return nil, err
		}
	}
	return s.ledger.open(s.mails)
}

func (s *story) belfry(ctx context.Context) error {
	if s.new.down {
		return nil
	}
	if err := s.new.poller.Drain(ctx); err != nil {
		return err
	}
	contested, err := s.conflicts(ctx)
	for _, c := range contested {
		if !s.ledger.contested[c.Key] {
			s.ledger.contested[c.Key] = true
			s.ledger.conflicts[s.stages[c.Ownership.BusinessUnit]]++
			s.happens("conflict: Belfry wanted %s, and the %s has it, %s", c.Key, c.Ownership.Owner, c.Ownership.Status)
		}
	}
	return err
}

func (s *story) conflicts(ctx context.Context) ([]automation.ContestedRun, error) {
	return s.new.work.OwnershipConflicts(ctx, "", notify.Page{})
}
