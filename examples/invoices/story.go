package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
)

var firstDay = time.Date(2026, time.March, 10, 7, 0, 0, 0, time.UTC)

// story is two months of the firm.
type story struct {
	w         io.Writer
	clk       *clock.Mock
	books     *books
	settings  *settings.Settings
	reminders *automation.Scheduler
	poller    *belfry.Poller
	mails     mailbox
}

// play tells the story; each step returns an error where it does not end as it
// should.
func (s *story) play(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.begin,
		s.until(time.April, 10, 12),
		s.changeSettings,
		s.until(time.April, 14, 12),
		s.benPays,
		s.until(time.April, 16, 12),
		s.danPaysUnheard,
		s.until(time.May, 10, 12),
		s.explain,
		s.count,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s.w, format+"\n", args...) }

// until lets the hours pass and prints the mails that went out.
func (s *story) until(month time.Month, day, hour int) func(context.Context) error {
	return func(ctx context.Context) error {
		for end := time.Date(2026, month, day, hour, 0, 0, 0, time.UTC); s.clk.Now().Before(end); s.clk.Add(time.Hour) {
			if err := s.poller.Drain(ctx); err != nil {
				return err
			}
		}
		news, err := s.mails.news(ctx, s.zone)
		for _, line := range news {
			s.say("  %s", line)
		}
		return err
	}
}

// tell says what happened to an invoice.
func (s *story) tell(ctx context.Context, event string, i *invoice) (automation.EventResult, error) {
	return s.reminders.HandleEvent(ctx, automation.Event{
		Type: event, Source: automation.Source{Type: "invoice", ID: i.id}, Version: i.version(),
	})
}

func (s *story) begin(ctx context.Context) error {
	if err := configure(ctx, s.settings); err != nil {
		return err
	}
	s.say("%s: reminders go out 14 and 3 days before the due date, 1 and 14 days after, at 09:00.", s.today())
	for _, i := range s.books.invoices {
		i.changed = s.clk.Now()
		got, err := s.tell(ctx, entered, i)
		if err != nil {
			return err
		}
		var days []string
		for _, e := range got.Ensured {
			if e.Outcome == automation.OffsetPassed {
				days = append(days, "-")
				continue
			}
			days = append(days, e.ScheduledOn.Format("Mon 2 Jan"))
		}
		s.say("  %s  %-5s %-6s due %s: %s", i.id, i.customer, i.branch, i.due, strings.Join(days, ", "))
	}
	s.say("Those on a day off have moved; those whose moment is over are not made. The mails:")
	return nil
}

// zone is that of a customer's branch.
func (s *story) zone(ctx context.Context, customer string) (*time.Location, error) {
	for _, i := range s.books.invoices {
		if i.customer == customer {
			name, err := s.settings.Zone(ctx, "", i.branch)
			if err != nil {
				return nil, err
			}
			return time.LoadLocation(name)
		}
	}
	return nil, fmt.Errorf("a mail to %s, who is no customer", customer)
}

func (s *story) today() string { return s.clk.Now().Format("Mon 2 January") }

func (s *story) benPays(ctx context.Context) error {
	i := s.books.invoice("1002")
	i.paid, i.changed = true, s.clk.Now()
	got, err := s.tell(ctx, paid, i)
	if err != nil {
		return err
	}
	if len(got.Deactivated) != 4 {
		return fmt.Errorf("%d reminders ended when 1002 was paid", len(got.Deactivated))
	}
	s.say("%s: 1002 is paid, which ends the %d reminders that were to come.", s.today(), len(got.Deactivated))
	return nil
}

// danPaysUnheard is a payment whose event is lost.
func (s *story) danPaysUnheard(context.Context) error {
	i := s.books.invoice("1004")
	i.paid, i.changed = true, s.clk.Now()
	s.say("%s: 1004 is paid, and the event is lost. Each reminder is checked again when it is due.", s.today())
	return nil
}
