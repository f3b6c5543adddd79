package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/internal/pgtest"
)

// story is what -play does, and what it expects of it.
type story struct {
	ctx  context.Context
	s    settings
	w    io.Writer
	m    *mailer
	live []*replica
	want map[string]int // mails by address
	next int
}

// play tells the story and returns an error where it does not end as it should.
func play(ctx context.Context, s settings, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if s.dsn == "" {
		server, err := pgtest.Launch(nil)
		if err != nil {
			return err
		}
		defer server.Remove() //nolint:errcheck // a folder of the system's own for such files
		if s.dsn, err = server.CreateDatabase(); err != nil {
			return err
		}
	}
	m, err := newMailer()
	if err != nil {
		return err
	}
	s.mailer, s.token = m.url, "for the play"
	st := &story{ctx: ctx, s: s, w: w, m: m, want: map[string]int{}}
	defer st.kill()
	return steps(st.open, st.book, st.refuse, st.change, st.roll, st.wait, st.close, st.judge)
}

// steps runs one after the other, until one fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (st *story) say(format string, args ...any) { fmt.Fprintf(st.w, format+"\n", args...) }

func (st *story) up(name string) func() error {
	return func() error {
		r, err := start(st.ctx, st.s, name, st.w)
		if err == nil {
			st.live = append(st.live, r)
		}
		return err
	}
}

// down ends the oldest replica.
func (st *story) down() error {
	oldest := st.live[0]
	st.live = st.live[1:]
	return oldest.stop()
}

// kill leaves no replica behind where the play breaks off.
func (st *story) kill() {
	for _, r := range st.live {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	}
}

func (st *story) open() error {
	st.say("Two replicas of one service, on one database:")
	return steps(st.up("replica A"), st.up("replica B"))
}

func (st *story) book() error {
	st.say("Twelve bookings; an impatient client says each of them to both replicas at once.")
	return st.more(12)()
}

// more makes bookings whose reminders are due in some seconds, through every
// replica.
func (st *story) more(n int) func() error {
	return func() error {
		for range n {
			if err := st.bookOne(); err != nil {
				return err
			}
		}
		return nil
	}
}

func (st *story) bookOne() error {
	st.next++
	b := booking{
		ID: fmt.Sprintf("b%02d", st.next), Email: fmt.Sprintf("guest%02d@example.com", st.next), Seats: 1,
		RemindOn: time.Now().Add(time.Duration(4+st.next%3) * time.Second).Truncate(time.Second),
	}
	var calls errgroup.Group
	for _, r := range st.live {
		calls.Go(func() error { return st.call(r, http.MethodPut, "/bookings/"+b.ID, b, http.StatusOK) })
	}
	st.want[b.Email] = 1
	return calls.Wait()
}

func (st *story) refuse() error {
	st.say("A party of 80 is refused: its transaction rolls back, and the reminder with it.")
	b := booking{Email: "party@example.com", Seats: 80, RemindOn: time.Now().Add(3 * time.Second)}
	return st.call(st.live[0], http.MethodPut, "/bookings/party", b, http.StatusConflict)
}

func (st *story) change() error {
	st.say("One guest cancels, one moves to another moment.")
	delete(st.want, "guest01@example.com")
	moved := booking{Email: "guest02@example.com", Seats: 1, RemindOn: time.Now().Add(7 * time.Second)}
	return errors.Join(
		st.call(st.live[1], http.MethodDelete, "/bookings/b01", nil, http.StatusOK),
		st.call(st.live[0], http.MethodPut, "/bookings/b02", moved, http.StatusOK),
	)
}

func (st *story) roll() error {
	st.say("A rolling restart, while bookings go on and reminders come due:")
	return steps(
		st.up("replica C"), st.more(4), st.down, st.more(4),
		st.up("replica D"), st.more(4), st.down, st.more(4),
	)
}

// wait returns when everybody who should have a mail has one.
func (st *story) wait() error {
	st.say("Waiting for %d mails.", len(st.want))
	for {
		missing := ""
		got := st.m.mails()
		for to := range st.want {
			if got[to] == 0 {
				missing = to
			}
		}
		if missing == "" {
			return nil
		}
		select {
		case <-st.m.came:
		case <-st.ctx.Done():
			return fmt.Errorf("no mail for %s: %w", missing, st.ctx.Err())
		}
	}
}

func (st *story) close() error {
	st.say("What the help desk reads about the guest who moved:")
	if err := st.show(st.live[0], "/bookings/b02/reminders"); err != nil {
		return err
	}
	return steps(st.down, st.down)
}

// judge compares what came with what should have come.
func (st *story) judge() error {
	got, doubled, strange := st.m.mails(), 0, 0
	for to, n := range got {
		if st.want[to] == 0 {
			strange++
		}
		if n > 1 {
			doubled++
		}
	}
	st.say("%d mails wanted, %d guests have one, %d have more than one, %d should have none.", len(st.want), len(got), doubled, strange)
	if doubled+strange > 0 || len(got) != len(st.want) {
		return errors.New("that is not as it should be")
	}
	return nil
}

// call sends a request and expects a status.
func (st *story) call(r *replica, method, path string, body any, status int) error {
	resp, err := st.do(r, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != status {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s %s on %s: %s: %s", method, path, r.name, resp.Status, text)
	}
	return nil
}

func (st *story) show(r *replica, path string) error {
	resp, err := st.do(r, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(st.w, resp.Body)
	return err
}

func (st *story) do(r *replica, method, path string, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(st.ctx, method, r.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+st.s.token)
	return http.DefaultClient.Do(req)
}
