package chaostest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// surveys are the host's program for links.
func surveys(store storage.Store, provider string) *survey.Service {
	return survey.New(store, &survey.Options{
		SurveyURL: "https://host.example/s/{token}", InDoubt: notify.AssumeSent, // so that no send is made twice
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}, &client{url: provider})
}

// tick is the worker process of a host with a timer of its own: it ticks until it
// is killed, or until it finds nothing more.
func tick(ctx context.Context, s *survey.Service, drain bool) error {
	fmt.Println("ready")
	alive := make(chan struct{})
	go func() {
		defer close(alive)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	for {
		r, err := s.PollOnce(ctx, 40)
		if err != nil || drain && r.Processed == 0 {
			return err
		}
		select {
		case <-alive:
			return nil
		case <-clock.New().After(5 * time.Millisecond):
		}
	}
}
