package survey

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// chosen is what a customer has chosen in a message and not sent yet: on which day, and
// what it counts as.
type chosen struct {
	Day       string            `json:"d"`
	Hash      string            `json:"h"` // of the answers
	Questions map[string]*given `json:"q"`
}

// Choose notes what the customer of the link with that token has chosen in the message, such
// as a step of a scale, until the form is sent: results count it apart, and the last choice
// stands. The page's own script or button tells it, not a GET, which mail scanners make.
// Answers are a JSON object by question id; of questions that are not a
// [form.QuestionType.Chosen] nothing is noted. An answer that does not fit is an
// [*form.AnswersError], a link that was answered [ErrAnswered]; other errors are those of
// Submit.
func (s *Service) Choose(ctx context.Context, token string, answers json.RawMessage) error {
	find := byToken(token)
	return s.inTx(ctx, func(tx storage.Tx) error {
		return driver.Again("the link", func() error { return s.chooseOnce(ctx, tx, find, answers) })
	})
}

func (s *Service) chooseOnce(ctx context.Context, tx storage.Tx, find finder, answers json.RawMessage) error {
	row, err := find(ctx, tx)
	if err != nil {
		return err
	}
	now := driver.Now(s.store)
	if err := row.closed(now); err != nil {
		return err
	}
	if row.Status == StatusCompleted {
		return ErrAnswered
	}
	v, err := s.versionOf(ctx, tx, row.Scope, row.SurveyID, row.SurveyVersion)
	if err != nil {
		return err
	}
	a, err := v.AcceptChoice(answers)
	if err != nil || len(a.Values) == 0 {
		return err
	}
	before := row.Chosen
	if before != nil && before.Hash == a.Hash {
		return nil
	}
	row.Chosen = &chosen{dayOf(now), a.Hash, countAnswers(&v.Definition, a).Questions}
	if err := instances.Save(ctx, tx, row); err != nil {
		return err
	}
	return noteChosen(ctx, tx, row, v, before, row.Chosen)
}

// noteChosen notes that a choice took the place of another; nil is none.
func noteChosen(ctx context.Context, tx storage.Tx, row *instanceRow, v *version, before, after *chosen) error {
	f := factOf(row, v)
	before.count(f, -1)
	after.count(f, 1)
	if len(f.Days) == 0 {
		return nil
	}
	_, err := entries.Insert(ctx, tx, entryOf(row, chosenEntry+strconv.FormatInt(row.Version, 10), f))
	return err
}

// count adds the choice to a fact, or takes it away.
func (c *chosen) count(f *fact, times int) {
	if c == nil {
		return
	}
	day, err := time.Parse(time.DateOnly, c.Day)
	if err != nil { // dayOf wrote it
		return
	}
	out := &counted{}
	for key, g := range c.Questions {
		out.choose(key, g.times(times))
	}
	f.on(day, out)
}

// times is what was given so many times.
func (g *given) times(n int) *given {
	out := &given{N: g.N * n, Values: map[string]int{}}
	for value, count := range g.Values {
		out.Values[value] = count * n
	}
	return out
}

// choose adds to what was chosen and not sent. What comes to nothing is not kept.
func (c *counted) choose(key string, theirs *given) {
	if c.Chosen == nil {
		c.Chosen = map[string]*given{}
	}
	mine := c.Chosen[key]
	if mine == nil {
		mine = &given{}
		c.Chosen[key] = mine
	}
	mine.add(theirs)
	for value, n := range mine.Values {
		if n == 0 {
			delete(mine.Values, value)
		}
	}
	if mine.N == 0 && len(mine.Values) == 0 {
		delete(c.Chosen, key)
	}
}
