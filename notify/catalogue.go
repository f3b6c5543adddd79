package notify

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/internal/work"
)

// Catalogue says which types of notification a business unit wants, and who has
// subscribed to them (Communication - Codebase flow, "What Notification Settings
// control"). It is asked when a schedule is due and when a job is rendered, for
// many at once and from several goroutines. Without one every registered type is
// wanted, and goes to those whom its job names.
type Catalogue interface {
	// Options answers for each question in order. An error fails the try of all.
	Options(ctx context.Context, asked []Question) ([]NotificationOption, error)
}

// Question asks for a notification type in a business unit.
type Question struct {
	Scope        Scope
	Type         string
	BusinessUnit string
}

// NotificationOption is what a catalogue says about a type in a business unit.
// The zero value says that the type is not in the catalogue: nothing is sent.
type NotificationOption struct {
	Seeded, Enabled bool
	// Subscribers are told beside those whom a job names.
	Subscribers []Recipient
}

// skips says why nothing is sent for a job that names so many recipients; empty
// if something is.
func (o NotificationOption) skips(named int) string {
	switch {
	case !o.Seeded:
		return ReasonNotSeeded
	case !o.Enabled:
		return ReasonDisabled
	case named+len(o.Subscribers) == 0:
		return ReasonNoSubscribers
	}
	return ""
}

// catalogued asks each question once.
func (n *Notifier) catalogued(ctx context.Context, asked []Question) (map[Question]NotificationOption, error) {
	out := make(map[Question]NotificationOption, len(asked))
	var open []Question
	for _, q := range asked {
		if _, known := out[q]; !known {
			out[q] = NotificationOption{}
			open = append(open, q)
		}
	}
	var answers []NotificationOption
	err := work.Guard(func() (err error) {
		answers, err = n.options.Catalogue.Options(ctx, open)
		return err
	})
	if err == nil && len(answers) != len(open) {
		err = fmt.Errorf("%d answers for %d questions", len(answers), len(open))
	}
	if err != nil {
		return nil, fmt.Errorf("notify: catalogue: %w", err)
	}
	for i, q := range open {
		out[q] = answers[i]
	}
	return out, nil
}

// subscribers gives the jobs of a group that were not rendered before those who
// have subscribed.
func (n *Notifier) subscribers(ctx context.Context, items []work.Item[Job]) (map[Question]NotificationOption, error) {
	var asked []Question
	for _, it := range items {
		if n.options.Catalogue != nil && it.Row.Frozen.isZero() {
			asked = append(asked, it.Row.question())
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	return n.catalogued(ctx, asked)
}

func (j *Job) question() Question { return Question{j.Scope, j.Type, j.BusinessUnit} }

// unwanted says which of the schedules are for nobody, and why.
func (n *Notifier) unwanted(ctx context.Context, items []work.Item[Schedule], found []woken) (map[int]string, error) {
	if n.options.Catalogue == nil {
		return nil, nil
	}
	asked := make([]Question, len(items))
	for i, it := range items {
		asked[i] = Question{it.Row.Scope, it.Row.Type, it.Row.BusinessUnit}
	}
	options, err := n.catalogued(ctx, asked)
	if err != nil {
		return nil, err
	}
	out := map[int]string{}
	for i := range items {
		named := 1 // a messaging job has its recipients in a blob
		if j := found[i].job; j != nil {
			named = len(j.Recipients)
		}
		if why := options[asked[i]].skips(named); why != "" {
			out[i] = why
		}
	}
	return out, nil
}
