package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/recur"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Fault is one thing that is wrong with a subscription: a Problem, and the Path of
// the field that it is in, such as "SendAt" or "Recipients[1].Inbox".
type Fault = storable.Fault

// InvalidError lists every fault of a subscription that was not saved.
type InvalidError struct {
	GUID   string
	Faults []Fault // at least one
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("report: subscription %.60q: %s", e.GUID, storable.Faults(e.Faults))
}

// faults collects all that is wrong with a subscription.
type faults struct{ storable.Faults }

// err is nil if nothing is wrong.
func (f faults) err(guid string) error {
	if len(f.Faults) == 0 {
		return nil
	}
	return &InvalidError{GUID: guid, Faults: f.Faults}
}

// text checks free text.
func (f *faults) text(path, text string, limit int) {
	switch {
	case len(text) > limit:
		f.Add(path, "has %d bytes, more than %d", len(text), limit)
	case !storable.Text(text):
		f.Add(path, "is not valid UTF-8, or holds a NUL")
	}
}

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
	f.cadence(sub)
	return f, f.tryOut(ctx, s.scheduler, sub.candidate())
}

// tryOut asks when the subscription would run, if its parts allow that. A field that is
// refused is left out of the next try, so that the faults of the others are found.
func (f *faults) tryOut(ctx context.Context, scheduler *automation.Scheduler, c automation.Candidate) error {
	if f.Has("Scope", "GUID", "Type", "BusinessUnit", "Cadence", "Cadence.Cron", "Cadence.RRule", "Cadence.Start", "Cadence.End") {
		return nil
	}
	for range 4 { // three fields, and the rest
		_, err := scheduler.Preview(ctx, c, 1)
		var refused *automation.CandidateError
		if !errors.As(err, &refused) {
			return err
		}
		if !f.Has(refused.Field) {
			f.refused(refused)
		}
		switch refused.Field {
		case "Zone":
			c.Zone = "UTC"
		case "SendAt":
			c.SendAt = ""
		case "Gap, Overlap":
			c.Gap, c.Overlap = "", ""
		default:
			return nil
		}
	}
	return nil
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
			_, err := keys.OutgoingMessageRow(strings.Repeat("0", 40), channel.Method(r.Channel), 0)
			f.Because(at+".Channel", err)
		}
	}
}

func (f *faults) parameters(p json.RawMessage) {
	switch {
	case len(p) > maxParameters:
		f.Add("Parameters", "has %d bytes, more than %d", len(p), maxParameters)
	case len(p) > 0 && !json.Valid(p):
		f.Add("Parameters", "is not JSON")
	}
}

// Create stores a new subscription and makes sure of its next run, in one
// transaction. It returns the subscription as it is stored, with its GUID. An
// [*InvalidError] lists all that is wrong with it; nothing was written then. A
// GUID that exists is storage.ErrStale, unless it holds just this: then nothing
// changes, so a call may be repeated.
func (s *Service) Create(ctx context.Context, sub Subscription) (Subscription, error) {
	if sub.Version != 0 {
		return Subscription{}, errors.New("report: Create: the subscription has a Version; Update it")
	}
	if sub.GUID == "" {
		var err error
		if sub.GUID, err = s.NewGUID(); err != nil {
			return Subscription{}, err
		}
	}
	return s.save(ctx, sub)
}

// Update writes a subscription that was read, and brings its next run in line: a
// new cadence moves it, everything else is looked at when it is due. Errors are
// those of Create; one that was written meanwhile is storage.ErrStale, one
// that is not there storage.ErrNotFound. What is stored already as it is wanted is
// not written. A subscription that is paused stays so, one that is deactivated
// cannot be changed.
func (s *Service) Update(ctx context.Context, sub Subscription) (Subscription, error) {
	if sub.Version == 0 {
		return Subscription{}, errors.New("report: Update: the subscription has no Version; read it first, or Create it")
	}
	return s.save(ctx, sub)
}

func (s *Service) save(ctx context.Context, sub Subscription) (saved Subscription, err error) {
	sub.Parameters = compact(sub.Parameters)
	f, err := s.faults(ctx, sub)
	if err != nil {
		return Subscription{}, err
	}
	if f.Has("Scope", "GUID") {
		return Subscription{}, f.err(sub.GUID)
	}
	err = s.inTx(ctx, func(s *Service) error {
		row, err := s.put(ctx, sub, faults{slices.Clone(f.Faults)})
		if err == nil && row.Status == StatusActive {
			_, err = s.scheduler.Ensure(ctx, row.subscription().candidate())
		}
		if err == nil && sub.Version == 0 {
			err = s.scheduler.KeepReports(ctx, sub.Scope)
		}
		if err == nil {
			saved = row.subscription()
		}
		return err
	})
	if err != nil {
		return Subscription{}, wrap(sub.GUID, err)
	}
	return saved, nil
}

// put writes the row, and adds the faults that only the stored one tells.
func (s *Service) put(ctx context.Context, sub Subscription, f faults) (*row, error) {
	stored, err := find(ctx, s.tx, sub.Scope, sub.GUID)
	if err != nil {
		return nil, err
	}
	want := sub.row(s.now())
	if stored != nil && stored.BusinessUnit != sub.BusinessUnit {
		f.Add("BusinessUnit", "is %.40q and cannot change: runs stand for it", stored.BusinessUnit)
	}
	switch err := f.err(sub.GUID); {
	case err != nil:
		return nil, err
	case stored == nil && sub.Version != 0:
		return nil, storage.ErrNotFound
	case stored == nil:
		inserted, err := subscriptions.Insert(ctx, s.tx, want)
		if err == nil && !inserted[0] {
			return nil, storage.ErrStale
		}
		return want, err
	case stored.says(want):
		return stored, nil
	case stored.Version != sub.Version:
		return nil, fmt.Errorf("read with version %d, stored with %d: %w", sub.Version, stored.Version, storage.ErrStale)
	case stored.Status == StatusDeactivated:
		return nil, fmt.Errorf("%w: it is %s", audit.ErrActionRefused, stored.Status)
	}
	stored.Kind, stored.Name, stored.Document, stored.SavedOn = want.Kind, want.Name, want.Document, want.SavedOn
	return stored, subscriptions.Save(ctx, s.tx, stored)
}

// find returns the row with that guid, or nil. A guid that no row can have is not
// asked for.
func find(ctx context.Context, from driver.Reader, scope storage.Scope, guid string) (*row, error) {
	if !storable.Text(guid) {
		return nil, subscriptions.CheckScope(scope)
	}
	found, err := subscriptions.Get(ctx, from, scope, guid)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return found, err
}

// compact gives parameters one spelling; what is not JSON is refused later.
func compact(p json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if len(p) == 0 || json.Compact(&out, p) != nil {
		return p
	}
	return out.Bytes()
}

// wrap says what an error is about.
func wrap(guid string, err error) error {
	var invalid *InvalidError
	if err == nil || errors.As(err, &invalid) {
		return err
	}
	return fmt.Errorf("report: subscription %.60q: %w", guid, err)
}
