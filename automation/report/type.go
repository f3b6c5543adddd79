package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// DefaultMaxBytes bounds a report whose type says nothing else.
const DefaultMaxBytes = notify.MaxAttachments

// Type is a kind of report and all that the host's code says about it. Only Name
// and Builder are required.
type Type struct {
	// Name is stored with subscriptions and runs, and must be the same in every
	// process. It is the name of the notify.Type, too.
	Name    string
	Builder Builder

	// Template makes the messages, over {"Report":{"Name","Key","ScheduledOn",
	// "LocalDate","LocalTime","Zone","Manual","Empty","Data","Files":[{"Name",
	// "MediaType","Size","URL"}]}}: a notify.Template, or any Renderer; nil: files alone.
	// Templates are others that subscriptions name.
	Template  notify.Renderer
	Templates map[string]notify.Renderer
	// Recipients resolves whom a run is for, from its Subscription.Recipients or from
	// elsewhere; nil: those. It is asked before the report is built.
	Recipients func(ctx context.Context, run Run) ([]notify.Recipient, error)
	// Link makes the URL of a file, for subscriptions with Delivery.Link; what it
	// leads to can be read by [Service.OpenFile]. It is asked before anybody keeps
	// the file, so it only names it.
	Link func(ctx context.Context, run Run, file notify.AttachmentRef) (string, error)

	// MaxBytes bounds the parts of a report together; default DefaultMaxBytes, which
	// is the most that is attached to a message. A larger report is stopped at once
	// and waits for a person.
	MaxBytes int64
	// LongRunning types are tried again every 24 h after the usual steps, at most
	// seven times, before they are put on hold.
	LongRunning bool
	// Lateness is about runs that nobody came to in time; default: each one runs,
	// however late.
	Lateness automation.Lateness
	// Guarded runs may be done by an old scheduler as well: which of the two delivers
	// one, the ownership guard decides; see automation.Guarded.
	Guarded bool
	// InDoubt is the policy of the messages; see notify.Type.
	InDoubt notify.InDoubt
	// Retention says when ended runs are deleted; the zero value keeps them.
	Retention automation.Retention
}

// Register adds a type: from now on this process runs its reports and renders
// their messages. It panics on what only a programmer can get wrong: no Builder, a
// name that no key can hold or that is taken, a template that does not parse, and
// on a service that is bound to a transaction.
func (s *Service) Register(t Type) {
	if s.tx != nil {
		panic(fmt.Sprintf("report: Register(%q): inside a transaction", t.Name))
	}
	t, err := t.compiled()
	if err != nil {
		panic(fmt.Sprintf("report: Register(%q): %v", t.Name, err))
	}
	t.MaxBytes = cmp.Or(t.MaxBytes, DefaultMaxBytes)
	s.types.mu.Lock()
	_, taken := s.types.byName[t.Name]
	if !taken {
		s.types.byName[t.Name] = t
	}
	s.types.mu.Unlock()
	if taken {
		panic(fmt.Sprintf("report: Register(%q): the name is registered already", t.Name))
	}
	s.out.Register(notify.Type{
		Name: t.Name, Renderer: renderer{s.store.Blobs(), t}, InDoubt: t.InDoubt,
		Revalidator: notify.RevalidatorFunc(s.revalidate),
	})
	s.scheduler.HandleReports(t.Name, t.handler(s), t.Lateness)
}

// compiled checks t, and parses its templates.
func (t Type) compiled() (Type, error) {
	switch {
	case t.Builder == nil:
		return t, errors.New("it has no Builder")
	case t.MaxBytes < 0:
		return t, errors.New("a negative MaxBytes")
	case t.Template == nil:
		t.Template = notify.Template{}
	}
	var err error
	if t.Template, err = compiled(t.Template); err != nil {
		return t, err
	}
	given := t.Templates
	t.Templates = map[string]notify.Renderer{}
	for name, one := range given {
		if name == "" || one == nil {
			return t, errors.New("a template without a name, or nil")
		}
		if t.Templates[name], err = compiled(one); err != nil {
			return t, fmt.Errorf("template %q: %w", name, err)
		}
	}
	return t, nil
}

func compiled(r notify.Renderer) (notify.Renderer, error) {
	if t, ok := r.(notify.Template); ok {
		return t.Compile()
	}
	return r, nil
}

// handler serves the due pass.
func (t Type) handler(s *Service) automation.Handler {
	var h automation.Handler = automation.HandlerFunc(s.handle)
	if t.Retention.After > 0 {
		h = automation.Retained(h, t.Retention)
	}
	if t.LongRunning {
		h = automation.LongRunning(h)
	}
	if t.Guarded {
		h = automation.Guarded(h)
	}
	return h
}

// renderer gives the template of that name; empty is the type's own.
func (t Type) renderer(name string) (notify.Renderer, bool) {
	if name == "" {
		return t.Template, true
	}
	found, ok := t.Templates[name]
	return found, ok
}
