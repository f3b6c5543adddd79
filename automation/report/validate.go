package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/recur"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
)

// Limits of a subscription.
const (
	maxName       = 200
	maxText       = 1000
	maxRecipients = 200
	maxParameters = 8 << 10
)

// Validate says all that is wrong with sub, with an [*InvalidError]. Whether a
// zone is known where sub names none, automation.Options.Zone is asked.
func (s *Service) Validate(ctx context.Context, sub Subscription) error {
	f, err := s.faults(ctx, sub)
	if err != nil {
		return err
	}
	return f.err(sub.GUID)
}

func (s *Service) faults(ctx context.Context, sub Subscription) (faults, error) {
	var f faults
	f.Scope(sub.Scope)
	f.Part("GUID", sub.GUID)
	f.Part("Type", sub.Type)
	f.text("Name", sub.Name, maxName)
	f.Optional("BusinessUnit", sub.BusinessUnit)
	f.template(s.types, sub)
	f.recipients(sub.Recipients)
	f.parameters(sub.Parameters)
	if f.cadence(sub); len(f.Faults) > 0 {
		return f, nil // when it runs is tried out for what is right so far
	}
	_, err := s.scheduler.Preview(ctx, sub.candidate(), 1)
	var refused *automation.CandidateError
	if errors.As(err, &refused) {
		f.refused(refused)
		err = nil
	}
	return f, err
}

// refused says in the words of a subscription what is wrong with its candidate.
func (f *faults) refused(err *automation.CandidateError) {
	path := err.Field
	switch path {
	case "Recurrence":
		path = "Cadence"
	case "":
		path = "GUID"
	}
	f.Because(path, err.Err)
}

func (f *faults) cadence(sub Subscription) {
	f.text("Cadence.Cron", sub.Cadence.Cron, maxText)
	f.text("Cadence.RRule", sub.Cadence.RRule, maxText)
	f.text("SendAt", sub.SendAt, maxText)
	f.text("Zone", sub.Zone, maxText)
	c := sub.Cadence
	f.Cadence(recur.Spec{Cron: c.Cron, RRule: c.RRule, Start: c.Start, End: c.End})
}

// template can be looked up only where the type is registered.
func (f *faults) template(known *types, sub Subscription) {
	f.text("Template", sub.Template, maxName)
	t, registered := known.get(sub.Type)
	if !registered {
		return
	}
	if _, ok := t.renderer(sub.Template); !ok {
		f.Add("Template", "%s has none of that name", sub.Type)
	}
	if sub.Delivery.Link && t.Link == nil {
		f.Add("Delivery.Link", "%s makes no links", sub.Type)
	}
	if len(sub.Recipients) == 0 && t.Recipients == nil {
		f.Add("Recipients", "is empty, and %s resolves none", sub.Type)
	}
}

func (f *faults) recipients(all []notify.Recipient) {
	if len(all) > maxRecipients {
		f.Add("Recipients", "has %d entries, more than %d; let the type resolve them", len(all), maxRecipients)
		return
	}
	for i, r := range all {
		at := fmt.Sprintf("Recipients[%d]", i)
		for _, t := range []string{r.Ref, r.Channel, r.Address, r.Name, r.Locale, r.Zone, r.Inbox} {
			f.text(at, t, maxText)
		}
		if r.Inbox != "" && !strings.HasPrefix(r.Inbox, "user:") && !strings.HasPrefix(r.Inbox, "employee:") {
			f.Add(at+".Inbox", `is neither "user:{id}" nor "employee:{guid}"`)
		}
		switch {
		case r.Channel == "" && r.Inbox == "":
			f.Add(at, "has neither Channel nor Inbox")
		case r.Channel != "":
			_, err := keys.OutgoingMessageRow(strings.Repeat("0", 40), notify.Method(r.Channel), 0)
			f.Because(at+".Channel", err)
		}
	}
}

func (f *faults) parameters(p json.RawMessage) {
	switch {
	case len(p) > maxParameters:
		f.Add("Parameters", "has %d bytes, more than %d", len(p), maxParameters)
	case len(p) > 0 && !json.Valid(p):
		f.Add("Parameters", "is no JSON")
	}
}
