package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// school is the application, and the two who use it.
type school struct {
	w         io.Writer
	clk       *clock.Mock
	out       *notify.Notifier
	reminders *automation.Scheduler
	poller    *belfry.Poller
	url       string
}

// play is the story; each step says what it expects.
func (s school) play(ctx context.Context) error {
	steps := []func(context.Context) error{
		s.move("7a", "12", "e1"), s.move("7b", "3", "e2"), s.move("7b", "3", "e2"), // the event came twice
		s.shows("ada", "2 unread", "7b in room 3: Unseen", "7a in room 12: Unseen"),
		s.marks("ada", "Read", 0),
		s.shows("ada", "1 unread", "7b in room 3: Read", "7a in room 12: Unseen"),
		s.shows("ben", "2 unread", "7b in room 3: Unseen", "7a in room 12: Unseen"),
		s.marks("ben", "Archived", 1),
		s.shows("ben", "1 unread", "7b in room 3: Unseen"),
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// move is what the application does when a class changes its room.
func (s school) move(class, room, event string) func(context.Context) error {
	return func(ctx context.Context) error {
		s.clk.Add(time.Minute)
		_, err := s.reminders.HandleEvent(ctx, automation.Event{
			ID: event, Type: "class.moved", Source: automation.Source{Type: "class", ID: class}, Data: room,
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(s.w, "Class %s moves to room %s.\n", class, room)
		return s.poller.Drain(ctx)
	}
}

// shows reads a user's inbox and compares it with what should be there.
func (s school) shows(user, unread string, want ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		count, err := s.call(ctx, user, http.MethodGet, "/count", "")
		if err != nil {
			return err
		}
		all, err := s.call(ctx, user, http.MethodGet, "/", "")
		if err != nil {
			return err
		}
		got := []string{fmt.Sprintf("%d unread", count.Unread)}
		for _, m := range all.Messages {
			got = append(got, strings.Replace(strings.TrimPrefix(m.Subject, "Class "), " is", "", 1)+": "+m.Status)
		}
		fmt.Fprintf(s.w, "  %s: %s\n", user, strings.Join(got, "; "))
		if expected := strings.Join(append([]string{unread}, want...), "; "); strings.Join(got, "; ") != expected {
			return fmt.Errorf("%s should have: %s", user, expected)
		}
		return nil
	}
}

// marks marks the user's n-th message.
func (s school) marks(user, as string, n int) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := s.call(ctx, user, http.MethodGet, "/", "")
		if err != nil {
			return err
		}
		answer, err := s.call(ctx, user, http.MethodPost, "/mark", fmt.Sprintf(`{"as":%q,"ids":[%q]}`, as, all.Messages[n].ID))
		if err != nil {
			return err
		}
		fmt.Fprintf(s.w, "%s marks one as %s: %d changed.\n", user, as, answer.Changed)
		return nil
	}
}

func (s school) call(ctx context.Context, user, method, path, body string) (page, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return page{}, err
	}
	req.SetBasicAuth(user, "as the application does it")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return page{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return page{}, fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return decode(resp.Body)
}
