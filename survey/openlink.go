package survey

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// openKind is the EventKind of an open link; a control character is in no event's.
const openKind = "\x1eopen"

func isOpenLink(t form.Trigger) bool { return t.Channel == form.OpenChannel }

// openAs makes a trigger's row that of an open link.
func (r *triggerRow) openAs(key keys.LinkKey) {
	r.EventKind, r.LinkKey, r.LinkHash = openKind, key.ID(), linkHash(r.openToken(key))
}

// openToken is the secret of an open link.
func (r *triggerRow) openToken(key keys.LinkKey) string {
	return key.Token("open\x1f" + string(r.Scope) + "\x1f" + r.Key)
}

// OpenLink is the address of the form of a [form.OpenLink], for a poster or a page: any person
// answers by it, any number of times. It is the same in every version. The error wraps
// storage.ErrNotFound where scope has no such link that is published and enabled, and
// [ErrLinkKey].
func (s *Service) OpenLink(ctx context.Context, scope Scope, surveyID int64, id string) (string, error) {
	if s.options.SurveyURL == "" {
		return "", errNoSurveyURL
	}
	var row *triggerRow
	err := s.read(ctx, func(from driver.Reader) (err error) {
		row, err = triggers.Get(ctx, from, scope, triggerKey(surveyID, id))
		return err
	})
	if err == nil && row.EventKind != openKind {
		err = storage.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("survey: OpenLink %.40q of survey %d: %w", id, surveyID, err)
	}
	key, err := s.linkKey(ctx, scope, row.LinkKey)
	if err != nil {
		return "", fmt.Errorf("survey: OpenLink %.40q of survey %d: %w", id, surveyID, err)
	}
	return surveyURL(s.options.SurveyURL, row.openToken(key), id), nil
}

// openLink is the trigger of an open link, and its version; nil: the token is not one of an open
// link.
func (s *core) openLink(ctx context.Context, from driver.Reader, token string) (*triggerRow, *version, error) {
	found, err := triggers.Everywhere().Find(ctx, from, oneWhere("link_hash", linkHash(token)))
	if err != nil || len(found) == 0 || found[0].EventKind != openKind {
		return nil, nil, err
	}
	set, err := s.versionsOf(ctx, from, found[0].ref())
	if err != nil {
		return nil, nil, err
	}
	v, err := set.of(found[0].ref())
	return found[0], v, err
}

// opened is an instance of an open link, which is not stored yet, for the submission that is known
// by that text: the nonce of its form and its answers, so that a form that was sent twice counts
// once, and nothing that another has written is taken for a repeat.
func (r *triggerRow) opened(v *version, submission string, now time.Time) (*instanceRow, error) {
	if v.Anonymous {
		now = dayStart(now)
	}
	sum := sha256.Sum256([]byte(submission))
	row := &instanceRow{
		Due:      driver.Due{Record: storage.Record{Scope: r.Scope, Status: StatusSent}},
		SurveyID: r.SurveyID, SurveyVersion: r.VersionNumber, BusinessUnit: v.BusinessUnit, TriggerID: r.TriggerID, TriggeredOn: now, TriggeredBy: "open",
		Metadata: json.RawMessage("{}"), Channel: form.OpenChannel, UniqueHash: hex.EncodeToString(sum[:]), StoppedOn: now, CreatedOn: now,
	}
	var err error
	row.Key, err = keys.SurveyInstance{Survey: r.SurveyID, Trigger: r.TriggerID, Hash: row.UniqueHash}.Key()
	return row, err
}

// openForm is the form of an open link; it has a State if the token is one.
func (s *Service) openForm(ctx context.Context, from driver.Reader, token string) (Form, error) {
	t, v, err := s.openLink(ctx, from, token)
	if err != nil || t == nil {
		return Form{}, err
	}
	row, err := t.opened(v, "", driver.Now(s.store))
	if err != nil {
		return Form{}, err
	}
	return s.formOf(row, v, true), nil
}

// errNonce is an open link's answer without what tells a repeat.
var errNonce = &form.AnswersError{Faults: []form.AnswerFault{{Code: form.FaultMalformed, Problem: "an open link needs an IdempotencyKey, another for each form that is shown"}}}

// submitOpen takes the response of one of many by an open link: its instance is made with it.
func (s *Service) submitOpen(ctx context.Context, token string, r Response) (out Receipt, err error) {
	var scope Scope
	err = s.read(ctx, func(from driver.Reader) error {
		t, _, err := s.openLink(ctx, from, token)
		switch {
		case err != nil:
			return err
		case t == nil:
			return ErrNoSurvey
		case r.IdempotencyKey == "":
			return errNonce
		case !s.senders.admit(r.Address, driver.Now(s.store), s.options.OpenPerHour):
			return ErrTooMany
		}
		scope = t.Scope
		return nil
	})
	if err != nil {
		return Receipt{}, err
	}
	key, err := s.linkKeyFor(ctx, scope)
	if err != nil {
		return Receipt{}, err
	}
	var made *instanceRow
	err = s.inTx(ctx, func(tx storage.Tx) error {
		return driver.RetryStale("the open link", func() (err error) {
			if made, err = s.makeOpened(ctx, tx, token, r, key); err == nil {
				out, err = s.submitOnce(ctx, tx, byPublicID(made.Scope, made.PublicID), r, true)
			}
			return err
		})
	})
	if err != nil {
		return Receipt{}, err
	}
	out.Token, err = s.tokenOf(ctx, made)
	return out, err
}

// makeOpened stores the instance of a response that can be taken, or finds that of a repeat.
func (s *Service) makeOpened(ctx context.Context, tx storage.Tx, token string, r Response, key keys.LinkKey) (*instanceRow, error) {
	t, v, err := s.openLink(ctx, tx, token)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, ErrNoSurvey
	}
	a, err := v.Accept(r.Answers)
	if err != nil {
		return nil, err
	}
	row, err := t.opened(v, r.IdempotencyKey+"\x1f"+a.Hash, driver.Now(s.store))
	if err != nil {
		return nil, err
	}
	if row.PublicID, err = newPublicID(s.store.Rand()); err != nil {
		return nil, err
	}
	row.LinkKey, row.LinkHash = key.ID(), linkHash(key.Token(row.PublicID))
	got, err := instances.Ensure(ctx, tx, keepInstance, row)
	if err != nil {
		return nil, err
	}
	return readInstance(ctx, tx, t.Scope, got[0].Row.PublicID) // of a repeat there is little
}
