package survey

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// Form is what a page needs to draw the form behind a link.
type Form struct {
	PublicID string
	SurveyID int64
	// Survey is the name of the survey, Version the number of the version that the
	// link is pinned to.
	Survey  string
	Version int64
	// Locale is the recipient's; it may be empty.
	Locale string
	State  FormState
	// Open says that it is that of an open link, which any visitor answers: a page gives each form
	// that it shows an IdempotencyKey of its own.
	Open bool
	// Event is what the texts of the definition are filled with; see [form.Fill].
	Event form.LinkData
	// Ending is the one of an answered form that its answers match; nil: none.
	Ending *form.Ending
	// Definition is shared: do not change it.
	Definition *form.Definition
}

// FormState says what there is to do behind a link.
type FormState string

// The states of a form.
const (
	FormOpen     FormState = "Open"     // it takes a response
	FormAnswered FormState = "Answered" // it has one
	FormExpired  FormState = "Expired"  // it takes none any more
)

// Form is what is behind the link with that token. It changes nothing. A link that
// does not lead to a survey gets [ErrNoSurvey]; one that has expired has a form of that
// state.
func (s *Service) Form(ctx context.Context, token string) (out Form, err error) {
	find := byToken(token)
	err = s.read(ctx, func(from driver.Reader) error {
		row, err := find(ctx, from)
		var over error
		if err == nil {
			over = row.closed(driver.Now(s.store))
		}
		if over != nil && !errors.Is(over, ErrExpired) {
			err = over
		}
		if errors.Is(err, ErrNoSurvey) { // one that was deleted too, so that it takes as long
			if out, err = s.openForm(ctx, from, token); err == nil && out.State == "" {
				err = ErrNoSurvey
			}
			return err
		}
		if err != nil {
			return err
		}
		v, err := s.versionOf(ctx, from, row.Scope, row.SurveyID, row.SurveyVersion)
		if err != nil {
			return err
		}
		out = s.formOf(row, v, false)
		if over != nil {
			out.State = FormExpired
		}
		if row.Status != StatusCompleted {
			return nil
		}
		out.State = FormAnswered
		out.Ending, err = endingOf(ctx, from, row, v)
		return err
	})
	return out, err
}

// formOf is the form of a link that takes a response.
func (s *Service) formOf(row *instanceRow, v *version, open bool) Form {
	return Form{
		PublicID: row.PublicID, SurveyID: row.SurveyID, Survey: v.Name, Version: row.SurveyVersion,
		Locale: row.RecipientLocale, State: FormOpen, Open: open, Definition: &v.Definition,
		Event: linkData(row, v, "", ""),
	}
}

// endingOf is what the answers to a link lead to; nil if they are erased or forgotten.
func endingOf(ctx context.Context, from driver.Reader, row *instanceRow, v *version) (*form.Ending, error) {
	if len(v.Endings) == 0 {
		return nil, nil
	}
	given, err := responses.Get(ctx, from, row.Scope, row.PublicID)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return v.Ending(given.Answers), nil
}

// Opened notes that the customer's browser has shown the form, as the page's own
// beacon tells it: who only fetches the link, as mail scanners do, has not opened
// it. Reminders stay scheduled. It changes nothing the second time, nor after the
// response, nor for an open link; one that does not lead to a survey gets [ErrNoSurvey].
func (s *Service) Opened(ctx context.Context, token string) error {
	find := byToken(token)
	return s.inTx(ctx, func(tx storage.Tx) error {
		return driver.RetryStale("the link", func() error {
			row, err := find(ctx, tx)
			now := driver.Now(s.store)
			if err == nil {
				err = row.closed(now)
			}
			if errors.Is(err, ErrNoSurvey) && !errors.Is(err, ErrExpired) {
				if t, _, open := s.openLink(ctx, tx, token); open != nil || t != nil {
					return open
				}
			}
			if err != nil {
				return err
			}
			v, err := s.versionOf(ctx, tx, row.Scope, row.SurveyID, row.SurveyVersion)
			if err != nil {
				return err
			}
			if v.Anonymous {
				now = dayStart(now)
			}
			if !row.open(now) {
				return nil
			}
			if err := instances.Save(ctx, tx, row); err != nil {
				return err
			}
			_, err = entries.Insert(ctx, tx, entryOf(row, openedEntry, factOf(row, v, row.CreatedOn, row.opened())))
			return err
		})
	})
}

// open reports whether there was anything to change.
func (i *instanceRow) open(now time.Time) bool {
	if i.Status != StatusPending && i.Status != StatusSent {
		return false
	}
	machine.Must(i.Status, StatusOpened)
	i.Status = StatusOpened
	if i.OpenedOn.IsZero() {
		i.OpenedOn = now
	}
	return true
}
