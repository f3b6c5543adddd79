package webhook

import (
	"cmp"
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/safedial"
	"github.com/belfry-go/belfry/internal/standardwebhooks"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

var (
	_ notify.Channel        = (*Channel)(nil)
	_ notify.IdempotentSend = (*Channel)(nil)
)

// Channel posts messages to the addresses of their recipients. It is safe for
// several goroutines. Close it when nothing sends any more.
type Channel struct {
	key, kind string
	window    time.Duration
	dialer    safedial.Dialer
	client    *rest.Client
	// keys are those of the receiver at the URL; a function, so that no printed
	// channel shows a secret.
	keys func(ctx context.Context, url string) (standardwebhooks.Keys, error)
}

// New returns a channel. An error lists every setting that cannot be used, and
// never holds a secret.
func New(opts *Options) (*Channel, error) {
	o := cmp.Or(opts, new(Options)).withDefaults()
	var f rest.Faults
	o.check(&f)
	c := &Channel{key: o.Key, kind: o.Type, window: o.Deduplicates, dialer: safedial.Dialer{Trusted: o.Trusted}}
	c.keys = keysOf(o.SecretsOf)
	if o.SecretsOf == nil && len(o.Secrets) > 0 {
		fixed, err := standardwebhooks.ParseKeys(o.Secrets...)
		if err != nil {
			f.Add(true, "Secrets: "+err.Error())
		}
		c.keys = func(context.Context, string) (standardwebhooks.Keys, error) { return fixed, nil }
	}
	ro := o.client(c.dialer)
	ro.Check(&f)
	if err := f.Err("webhook"); err != nil {
		return nil, err
	}
	c.client = rest.NewClient(ro)
	return c, nil
}

func keysOf(secrets func(context.Context, string) ([]string, error)) func(context.Context, string) (standardwebhooks.Keys, error) {
	return func(ctx context.Context, url string) (standardwebhooks.Keys, error) {
		all, err := secrets(ctx, url)
		if err != nil {
			return nil, err
		}
		return standardwebhooks.ParseKeys(all...)
	}
}

// Key returns "webhook:standard", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// IdempotencyWindow returns Options.Deduplicates.
func (c *Channel) IdempotencyWindow() time.Duration { return c.window }

// Close ends the idle connections. A Send at work finishes.
func (c *Channel) Close() error {
	c.client.Close()
	return nil
}
