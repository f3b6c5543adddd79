package survey_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// buffer is a log that several goroutines write.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// I-29: whatever fails, and whatever it says, the log holds nothing of the
// customer.
func TestI29_TheLogHoldsNothingOfTheCustomer(t *testing.T) {
	const canary = "+964 770 000 0001"
	for name, fault := range map[string]func(*survey.Options) notify.Channel{
		"a renderer that panics": func(o *survey.Options) notify.Channel {
			o.Renderer = rendererFunc(func(form.LinkData) (form.Parts, error) { panic(canary) })
			return channel(nothingSent)
		},
		"a renderer that fails": func(o *survey.Options) notify.Channel {
			o.Renderer = rendererFunc(func(form.LinkData) (form.Parts, error) { return form.Parts{}, errors.New(canary) })
			return channel(nothingSent)
		},
		"a gate that fails": func(o *survey.Options) notify.Channel {
			o.HostGates = []notify.Gate{&hostGate{err: errors.New(canary)}}
			return channel(nothingSent)
		},
		"a channel that panics": func(*survey.Options) notify.Channel {
			return channel(func(context.Context, notify.Message) (notify.Receipt, error) { panic(canary) })
		},
		"a channel that fails": func(*survey.Options) notify.Channel {
			return channel(func(context.Context, notify.Message) (notify.Receipt, error) {
				return notify.Receipt{}, notify.Transient("550", 0, errors.New(canary))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, nil, func(h *host) {
				var log buffer
				o := survey.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
				c := fault(&o)
				h.use(o, c)
				h.linked(csiGR)
				for n := range 3 {
					h.clock.Set(start.Add(time.Duration(n) * time.Hour))
					if _, err := h.survey.PollOnce(h.t.Context(), 10); err != nil {
						h.t.Fatal(err)
					}
				}
				for _, personal := range []string{canary, "cust-123", "planted-name"} {
					if strings.Contains(log.text.String(), personal) {
						h.t.Errorf("%q in %s", personal, log.text.String())
					}
				}
			})
		})
	}
}

func nothingSent(context.Context, notify.Message) (notify.Receipt, error) {
	return notify.Receipt{}, errors.New("not to be called")
}
