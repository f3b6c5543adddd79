package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/survey"
)

// story is the service with a clock that it moves itself, and those who call it.
type story struct {
	*garage
	tell     say
	clk      *clock.Mock
	machine  client // the scanner, the timer and the administrator
	customer client
	mails    *mailbox
	links    map[string]string // by address
	ids      map[string]string // public ids, by address
}

// play tells the story, and returns the first thing that is not as expected.
func play(ctx context.Context, s settings, w io.Writer) (err error) {
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "survey-service"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(s.dir) }()
	}
	clk := clock.NewMock() // a real program leaves it out
	clk.Set(time.Date(2026, time.May, 14, 5, 12, 34, 0, time.UTC))
	listener, site, err := listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	g, err := openGarage(ctx, s, clk, site, func(string, ...any) {}, slog.LevelError) // the warehouse will be away
	if err != nil {
		return err
	}
	defer g.store.Close()
	srv := server(g.handler())
	defer srv.Close()
	go func() { _ = srv.Serve(listener) }() // until Close
	t := story{
		garage: g, tell: printer(w), clk: clk, machine: client{site, g.token}, customer: client{site: site},
		mails: &mailbox{dir: g.path(mailFolder), known: map[string]bool{}}, links: map[string]string{}, ids: map[string]string{},
	}
	for _, step := range []func(context.Context) error{
		t.empty, t.ingest, t.ingestAgain, t.send, t.remind, t.open, t.submit, t.submitAgain,
		t.outbox, t.deadLetter, t.replay, t.expire, t.count,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// empty refuses to tell the story on top of another one.
func (t *story) empty(ctx context.Context) error {
	list, _, err := t.surveys.Surveys(ctx, "", survey.Page{})
	if err == nil && len(list) > 0 {
		err = errors.New("there are surveys already: the story begins on an empty database")
	}
	if err != nil {
		return err
	}
	_, err = t.publish(ctx)
	return err
}

// at begins a paragraph.
func (t *story) at(format string, args ...any) {
	t.tell("%s  "+format, append([]any{t.clk.Now().UTC().Format("_2 Jan 15:04")}, args...)...)
}

// more goes on in it.
func (t *story) more(format string, args ...any) { t.tell("              "+format, args...) }

// expect says what is not as it should be.
func expect[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: %v, expected %v", what, got, want)
	}
	return nil
}
