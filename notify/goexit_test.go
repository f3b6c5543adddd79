package notify_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/memory"
)

// A renderer that ends its goroutine, as a test's Fatal does, ends none of who asks for a
// preview or a dry run.
func TestARendererThatEndsItsGoroutineEndsNobodyElses(t *testing.T) {
	t.Parallel()
	n := notify.New(memory.New(nil), nil)
	n.Register(notify.Type{Name: "news", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
		runtime.Goexit()
		return notify.Content{}, nil
	})})
	members := func(yield func(notify.Recipient, error) bool) {
		yield(notify.Recipient{Ref: "sam", Channel: "email:test", Address: "sam@example.com"}, nil)
	}
	payload, err := n.Campaigns().PutAudience(t.Context(), notify.AudienceOf(members), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() error{
		"preview": func() error {
			_, err := n.Preview(t.Context(), notify.Job{Type: "news"}, notify.Recipient{})
			return err
		},
		"dry run": func() error {
			_, err := n.Campaigns().DryRun(t.Context(), notify.MessagingJob{Type: "news", GUID: "g", Blob: payload.Blob}, 1)
			return err
		},
	} {
		answered := make(chan error)
		go func() {
			err := errors.New("the goroutine of the host has ended")
			defer func() { answered <- err }()
			err = ask()
		}()
		if p := (*work.PanicError)(nil); !errors.As(<-answered, &p) {
			t.Errorf("%s: no PanicError", name)
		}
	}
}
