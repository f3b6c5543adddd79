package automation

import (
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
)

// Register adds a reminder type: from now on this process serves its rows and
// its providers hear of events. On a dispatcher that is a [notify.Registrar] it
// also registers a notify.Type of the same name, unless t.NotificationType names
// one. It panics on what only a programmer can get wrong: no name or one that no
// key can hold, a name that is taken, nobody to send to, an unknown zone or
// policy, a template that does not parse, a Scan without bounds.
func (s *Scheduler) Register(t ReminderType) {
	if err := t.check(); err != nil {
		panic(fmt.Sprintf("automation: Register(%q): %v", t.Name, err))
	}
	if t.Scan != nil {
		t.Scan = t.Scan.withDefaults()
	}
	free := s.registry.claim(t.Name, func() {
		s.registry.reminders[t.Name] = t
		s.registry.listen(t)
	})
	if !free {
		panic(fmt.Sprintf("automation: Register(%q): the name is registered already", t.Name))
	}
	if r, ok := s.out.(notify.Registrar); ok && t.NotificationType == "" {
		r.Register(notify.Type{Name: t.Name, Renderer: t.Template, Urgent: t.Urgent, Revalidator: revalidator{s}})
	}
}

func (t *ReminderType) check() error {
	if err := checkName(t.Name); err != nil {
		return err
	}
	if t.Recipients == nil {
		return errors.New("it has no Recipients")
	}
	if t.Zone != "" {
		if _, err := civil.LoadZone(t.Zone); err != nil {
			return err
		}
	}
	if t.SendAt != "" {
		if _, err := civil.ParseTimeOfDay(t.SendAt); err != nil {
			return err
		}
	}
	if t.Scan != nil {
		if err := t.Scan.check(t.Triggers); err != nil {
			return err
		}
	}
	if t.CatchUp < 0 || t.Lateness.Window < 0 {
		return errors.New("a negative CatchUp or Lateness")
	}
	if err := t.Retention.check(); err != nil {
		return err
	}
	return civil.Policy{Gap: t.Gap, Overlap: t.Overlap}.Validate()
}

// checkName refuses a name that could not stand in a key.
func checkName(name string) error {
	_, err := keys.Host{Type: name, SourceType: "x", Source: "x", TriggerKey: "x"}.Key()
	var part *keys.PartError
	if errors.As(err, &part) {
		return errors.New("the name " + part.Problem)
	}
	return err
}
