package channel_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

// able is a channel whose methods say what it can do.
type able struct{ channel.Channel }

func (able) Capabilities() channel.Capabilities {
	return channel.Capabilities{Attachments: true, Mail: true, Callbacks: true}
}
func (able) IdempotencyWindow() time.Duration { return time.Hour }
func (able) LookupWindow() time.Duration      { return 0 }

func (able) Lookup(context.Context, channel.Message) (channel.LookupResult, error) {
	return channel.LookupResult{}, nil
}

func TestCapabilitiesAreThoseOfMethodsAndDeclarations(t *testing.T) {
	t.Parallel()
	plain := channel.Func("push:own", func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil })
	if diff := cmp.Diff(channel.Capabilities{}, channel.CapabilitiesOf(plain)); diff != "" {
		t.Error(diff)
	}
	want := channel.Capabilities{Attachments: true, Mail: true, Callbacks: true, Lookup: true, Idempotent: time.Hour}
	if diff := cmp.Diff(want, channel.CapabilitiesOf(able{plain})); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsLackingIsNamed(t *testing.T) {
	t.Parallel()
	all := channel.Capabilities{Attachments: true, Mail: true, Push: true, Template: true, Callbacks: true, Lookup: true, Idempotent: time.Hour}
	if diff := cmp.Diff([]string{"Attachments", "Mail", "Push", "Template", "Callbacks", "Lookup", "Idempotent"}, channel.Capabilities{}.Lacks(all)); diff != "" {
		t.Error(diff)
	}
	if lacks := append(all.Lacks(all), all.Lacks(channel.Capabilities{})...); lacks != nil {
		t.Error(lacks)
	}
	if diff := cmp.Diff([]string{"Idempotent"}, all.Lacks(channel.Capabilities{Idempotent: time.Hour + 1})); diff != "" {
		t.Error(diff)
	}
	for _, c := range []channel.Capabilities{{}, {Callbacks: true}, {Lookup: true}, {Idempotent: 1}} {
		if c.EndsDoubts() != (c.Lookup || c.Idempotent > 0) {
			t.Errorf("%+v", c)
		}
	}
}
