package notify

import (
	"cmp"
	"context"
	"fmt"
)

// Type is a type of notification, known by its name to every process that
// serves it. A job of a type that a process does not know is left to others.
type Type struct {
	// Name is stored with jobs and messages; it is required.
	Name string
	// Renderer makes the parts of a message. Nil is allowed in a process that
	// only ensures or only sends; there the generator leaves such a job to others.
	Renderer Renderer
	// InDoubt says what becomes of a message of which nobody can tell whether it
	// was sent. Empty means Hold.
	InDoubt InDoubt
	// Mandatory messages pass complaints and preferences: a password reset. It is
	// copied onto the message when that is made.
	Mandatory bool
	// Urgent work goes to the urgent lane and is exempt from quiet hours.
	Urgent bool
	// Revalidator is asked before a deferred or retried message goes out. Nil
	// means that such a message is always still wanted.
	Revalidator Revalidator
}

// InDoubt is the policy for a message in doubt, after the provider could not
// tell. It is copied onto the message when that is ensured.
type InDoubt string

// The policies of a message in doubt. Nothing is sent again without one that
// says so.
const (
	Hold       InDoubt = "Hold"       // a person decides; the default
	AssumeSent InDoubt = "AssumeSent" // a lost message is better than a second one
	Resend     InDoubt = "Resend"     // a second message is better than a lost one
)

// Revalidator says whether messages that waited or failed are still wanted.
// It is called from several goroutines.
type Revalidator interface {
	// Revalidate answers for each job in order. An error fails the try of all
	// their messages.
	Revalidate(ctx context.Context, jobs []Job) ([]Verdict, error)
}

// RevalidatorFunc is a Revalidator that looks at one job.
type RevalidatorFunc func(ctx context.Context, j Job) (Verdict, error)

// Revalidate calls f for each job.
func (f RevalidatorFunc) Revalidate(ctx context.Context, jobs []Job) ([]Verdict, error) {
	out := make([]Verdict, len(jobs))
	for i, j := range jobs {
		v, err := f(ctx, j)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// check returns t as it is used, and panics on what no program can mean.
func (t Type) check() Type {
	if t.Name == "" {
		panic("notify: Register: a type needs a name")
	}
	t.InDoubt = cmp.Or(t.InDoubt, Hold)
	switch t.InDoubt {
	case Hold, AssumeSent, Resend:
	default:
		panic(fmt.Sprintf("notify: Register %q: unknown InDoubt policy %q", t.Name, t.InDoubt))
	}
	if template, ok := t.Renderer.(Template); ok {
		compiled, err := template.compile()
		if err != nil {
			panic(fmt.Sprintf("notify: Register %q: %v", t.Name, err))
		}
		t.Renderer = compiled
	}
	return t
}
