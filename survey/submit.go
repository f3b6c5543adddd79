package survey

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// Response is what a customer submits, or a host that keeps the form elsewhere.
type Response struct {
	// Answers are a JSON object by question id.
	Answers json.RawMessage
	// AgentID is who filled the form in on the customer's behalf; empty: the
	// customer.
	AgentID string
	// Locale is the language that the form was filled in in, a BCP 47 tag of at most 64
	// bytes; it may be empty.
	Locale string
	// CompletedOn is when the form was completed; zero: now.
	CompletedOn time.Time
	// IdempotencyKey tells a repeat of the same submission; it may be empty, but not for an
	// open link, where the same answers under the same key are one submission.
	IdempotencyKey string
	// Address is where it comes from on the network, by which [Options].OpenPerHour counts; it is not
	// stored. Empty: it is not counted.
	Address string
}

// Receipt is the answer to a submission.
type Receipt struct {
	PublicID    string
	CompletedOn time.Time
	// Repeated says that the same submission had been taken before.
	Repeated bool
	// Token is, for an open link, that of the link that was made for this response.
	Token string
}

// ErrNoSurvey says that nothing can be answered there: no such link or instance, or a
// deleted one. Which of them it does not say, so that trying tells nothing
// links. Of one that has expired it is [ErrExpired].
var ErrNoSurvey = errors.New("survey: no survey can be answered by this link or id")

// ErrExpired is the [ErrNoSurvey] of a link that has expired.
var ErrExpired error = expiredError{}

type expiredError struct{}

func (expiredError) Error() string { return "survey: the link has expired" }
func (expiredError) Unwrap() error { return ErrNoSurvey }

// ErrAnswered says that another response was there first. It stands.
var ErrAnswered = errors.New("survey: the survey has been answered already")

// Submit takes the response to the link with that token, and passes it on to the
// subscribers: the response, the end of the instance and the event are written
// together or not at all (Triggers & Scheduler, "Post-answer fanout").
//
// A link has one response. The same answers again, or any under the same
// IdempotencyKey, get the first receipt with Repeated; others get [ErrAnswered]. A repeat of an
// anonymous response is known by the IdempotencyKey alone: give one that is random. Answers that do
// not fit the questions get an [*AnswersError], every link that does not lead to a survey
// [ErrNoSurvey], and too many by an open link [ErrTooMany].
func (s *Service) Submit(ctx context.Context, token string, r Response) (Receipt, error) {
	out, err := s.submit(ctx, byToken(token), r, true)
	if errors.Is(err, ErrNoSurvey) && !errors.Is(err, ErrExpired) {
		return s.submitOpen(ctx, token, r)
	}
	return out, err
}

// Complete takes the response to an instance whose form the host keeps elsewhere,
// under the rules of [Service.Submit]. What is not in scope looks absent.
func (s *Service) Complete(ctx context.Context, scope Scope, publicID string, r Response) (Receipt, error) {
	return s.submit(ctx, byPublicID(scope, publicID), r, false)
}

func (s *Service) submit(ctx context.Context, find finder, r Response, shown bool) (out Receipt, err error) {
	if err := r.check(); err != nil {
		return Receipt{}, err
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		return driver.RetryStale("the link", func() (err error) {
			out, err = s.submitOnce(ctx, tx, find, r, shown)
			return err
		})
	})
	if err != nil {
		return Receipt{}, err
	}
	return out, nil
}

// submitOnce is over if another has written the instance. It writes the message of a reminder
// that is on its way before the link, as the passes of package notify do.
func (s *Service) submitOnce(ctx context.Context, tx storage.Tx, find finder, r Response, shown bool) (Receipt, error) {
	row, err := find(ctx, tx)
	if err != nil {
		return Receipt{}, err
	}
	now := driver.Now(s.store)
	if err := row.closed(now); err != nil {
		return Receipt{}, err
	}
	v, err := s.versionOf(ctx, tx, row.Scope, row.SurveyID, row.SurveyVersion)
	if err != nil {
		return Receipt{}, err
	}
	if row.Status == StatusCompleted {
		return s.again(ctx, tx, row, v, r)
	}
	a, err := v.Accept(r.Answers)
	if err != nil {
		return Receipt{}, err
	}
	on := r.completedOn(now)
	if v.Anonymous {
		row.RepeatKey = r.keyHash()
		now, on, r = dayStart(now), dayStart(now), Response{Answers: r.Answers}
	}
	if _, err := s.end(ctx, tx, now, row); err != nil {
		return Receipt{}, err
	}
	row.complete(now, on, shown)
	if err := instances.Save(ctx, tx, row); err != nil {
		return Receipt{}, err
	}
	return s.keep(ctx, tx, row, v, r, a)
}

// complete ends the instance; a claim that holds it finds out when it writes.
func (i *instanceRow) complete(now, completedOn time.Time, shown bool) {
	machine.Must(i.Status, StatusCompleted)
	i.Status, i.CompletedOn, i.EndedOn = StatusCompleted, completedOn, now
	i.DueOn, i.NextSendOn = time.Time{}, time.Time{}
	i.IsOnSupportHold = false
	if i.StoppedOn.IsZero() {
		i.StoppedOn = now
	}
	i.Seen = !i.OpenedOn.IsZero()
	if shown && !i.Seen {
		i.OpenedOn = now // without JavaScript nothing else tells
	}
}

// keep writes the response and what it causes. The unique key decides a race that
// the instance has not decided.
func (s *Service) keep(ctx context.Context, tx storage.Tx, link *instanceRow, v *version, r Response, a *form.Answers) (Receipt, error) {
	row := link
	if v.Anonymous {
		id, err := newPublicID(s.store.Rand())
		if err != nil {
			return Receipt{}, err
		}
		row = link.anonymous(id)
	}
	stored := responseOf(row, v, r, a)
	isNew, err := responses.Insert(ctx, tx, stored)
	if err != nil {
		return Receipt{}, err
	}
	if !isNew[0] {
		return s.again(ctx, tx, row, v, r)
	}
	if _, err := answers.Insert(ctx, tx, answersOf(stored, a)...); err != nil {
		return Receipt{}, err
	}
	if err := s.noteAnswered(ctx, tx, link, row, v, a); err != nil {
		return Receipt{}, err
	}
	if err := s.emit(ctx, tx, row, v, v.Trigger(link.TriggerID), stored, a); err != nil {
		return Receipt{}, err
	}
	return Receipt{PublicID: link.PublicID, CompletedOn: row.CompletedOn}, nil
}

// noteAnswered notes for the results that a link is answered, and the response to it, which is about
// row. Of an anonymous one the two stand apart, and neither names the link.
func (s *core) noteAnswered(ctx context.Context, tx storage.Tx, link, row *instanceRow, v *version, a *form.Answers) error {
	apart := *row
	if v.Anonymous {
		var err error
		if apart.PublicID, err = newPublicID(s.store.Rand()); err != nil {
			return err
		}
	}
	_, err := entries.Insert(ctx, tx,
		entryOf(row, respondedEntry, factOf(row, v, row.EndedOn, row.responded(v, a))),
		entryOf(&apart, answeredEntry, factOf(link, v, link.CreatedOn, link.answered())))
	return err
}

// anonymous is all that an anonymous response may know of its link, under an id of its own.
func (i *instanceRow) anonymous(id string) *instanceRow {
	return &instanceRow{
		Due: driver.Due{Record: storage.Record{Scope: i.Scope}}, PublicID: id, SurveyID: i.SurveyID, SurveyVersion: i.SurveyVersion,
		Metadata: json.RawMessage("{}"), CompletedOn: i.CompletedOn, EndedOn: i.EndedOn,
	}
}

// dayStart is when a day began, in UTC.
func dayStart(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// again answers a submission to an instance that has its response.
func (s *Service) again(ctx context.Context, tx storage.Tx, row *instanceRow, v *version, r Response) (Receipt, error) {
	if v.Anonymous {
		if key := r.keyHash(); key == "" || key != row.RepeatKey {
			return Receipt{}, ErrAnswered
		}
		return Receipt{PublicID: row.PublicID, CompletedOn: row.CompletedOn, Repeated: true}, nil
	}
	first, err := responses.Get(ctx, tx, row.Scope, row.PublicID)
	if errors.Is(err, storage.ErrNotFound) {
		return Receipt{}, ErrNoSurvey // erased, or forgotten
	}
	if err != nil {
		return Receipt{}, err
	}
	out := Receipt{PublicID: row.PublicID, CompletedOn: first.CompletedOn, Repeated: true}
	if key := r.keyHash(); key != "" && key == first.IdempotencyKey {
		return out, nil
	}
	if a, err := v.Accept(r.Answers); err != nil || a.Hash != first.AnswersHash {
		return Receipt{}, ErrAnswered
	}
	return out, nil
}

// Bounds in bytes: of AgentID and IdempotencyKey, and of a locale.
const (
	maxAgent  = 200
	maxLocale = 64
)

func (r Response) check() error {
	for _, f := range []struct {
		name, text string
		most       int
	}{{"AgentID", r.AgentID, maxAgent}, {"IdempotencyKey", r.IdempotencyKey, maxAgent}, {"Locale", r.Locale, maxLocale}} {
		if len(f.text) > f.most || !utf8.ValidString(f.text) || strings.ContainsFunc(f.text, unicode.IsControl) {
			return &form.AnswersError{Faults: []form.AnswerFault{{Code: form.FaultMalformed, Problem: fmt.Sprintf("%s is not a text of at most %d bytes without control characters", f.name, f.most)}}}
		}
	}
	return nil
}

// completedOn is never in the future, whatever the clock of the form says, nor in a
// year that no database has.
func (r Response) completedOn(now time.Time) time.Time {
	on := driver.Time(cmp.Or(r.CompletedOn, now))
	if on.After(now) || on.Year() < 1 {
		return now
	}
	return on
}

func (r Response) keyHash() string {
	if r.IdempotencyKey == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(r.IdempotencyKey))
	return hex.EncodeToString(sum[:])
}
