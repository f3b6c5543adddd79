package support

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// Unhappy lists the unhappy responses that a query selects, the newest first, with who deals with them,
// beside the page of package survey that they are of. A desk without surveys has none.
func (d *Desk) Unhappy(ctx context.Context, scope Scope, q survey.WorklistQuery) (rows []Entry, page survey.WorklistPage, err error) {
	if d.o.Survey == nil {
		return nil, page, nil
	}
	q.Limit = cmp.Or(max(q.Limit, 0), DefaultPage)
	page, err = d.o.Survey.Support().Worklist(ctx, scope, q)
	if err != nil {
		return nil, page, fmt.Errorf("support: Unhappy: %w", err)
	}
	for i := range page.Items {
		rows = append(rows, d.unhappy(&page.Items[i]))
	}
	return rows, page, nil
}

// unhappyList is [Desk.Unhappy] of all surveys, of what is not handled.
func (l lister) unhappyList(scope Scope) reader {
	return func(ctx context.Context, p storage.Page) ([]Entry, string, error) {
		rows, page, err := (&Desk{l.core}).Unhappy(ctx, scope, survey.WorklistQuery{Page: p})
		return rows, page.Next, err
	}
}

// unhappy is a response in a list, with who deals with it.
func (c *core) unhappy(w *survey.WorkItem) Entry {
	e := c.response(w)
	switch w.State {
	case survey.WorkAssigned:
		e.Steps = []Step{{On: w.SubmittedOn, What: "Assign", Actor: w.Assignee}}
	case survey.WorkHandled:
		e.Steps = []Step{{On: w.HandledOn, What: "Handle", Actor: w.HandledBy, Detail: w.Note, person: true}}
	}
	return e
}

// response is what an unhappy response says by itself.
func (c *core) response(w *survey.WorkItem) Entry {
	e := Entry{
		On: w.SubmittedOn, Kind: KindResponse, Outcome: UnderWay, Type: cmp.Or(w.Survey, fmt.Sprintf("survey %d", w.SurveyID)), Status: string(w.State),
		Key: w.PublicID, Person: w.CustomerRef, Address: w.RecipientAddress, Can: []Action{Take, Handle},
		ToDo: "Take it, speak with the customer, and note what was done.",
	}
	e.What = "not assigned"
	switch w.State {
	case survey.WorkAssigned:
		e.What = "assigned"
	case survey.WorkHandled:
		e.What, e.Outcome, e.Can, e.ToDo = "handled", Reached, nil, ""
	}
	if w.Rated {
		e.What += fmt.Sprintf(", score %d of 100", w.Score)
	}
	if w.Queue != "" {
		e.What += ", queue " + w.Queue
	}
	e.Subject, e.Detail = texts(w.Comments, "", "; "), texts(append(w.Texts, factsOf(w.Event)...), ": ", "\n")
	if c.o.Ticket != nil {
		e.Ticket = c.o.Ticket(*w)
	}
	return e
}

// factsOf are the values of an event in the order of their names; none, if it is erased.
func factsOf(event []byte) (out []survey.AnswerText) {
	values, err := form.Flatten(event)
	if err != nil {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		if _, parted := values[path].(form.Object); !parted { // else its values come by themselves
			out = append(out, survey.AnswerText{Label: strings.TrimPrefix(path, "candidate."), Text: fmt.Sprint(values[path])})
		}
	}
	return out
}

// texts are answers in one text, behind their labels where there is something between.
func texts(all []survey.AnswerText, between, apart string) string {
	out := make([]string, len(all))
	for i, t := range all {
		if out[i] = t.Text; between != "" {
			out[i] = t.Label + between + t.Text
		}
	}
	return strings.Join(out, apart)
}

// responded is the unhappy response to a link, if it has one.
func (t teller) responded(ctx context.Context, scope Scope, publicID string) ([]Entry, error) {
	w, err := t.o.Survey.Support().Work(ctx, scope, publicID)
	if errors.Is(err, storage.ErrNotFound) || err == nil && !w.Unhappy {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []Entry{t.response(&w)}, nil
}

// takeOver gives a response to who acts.
func takeOver(ctx context.Context, d planner, tx storage.Tx, scope Scope, o Order, publicID string) (effect, error) {
	desk := d.o.Survey.WithTx(tx).Support()
	w, err := desk.Work(ctx, scope, publicID)
	switch {
	case err != nil:
		return effect{}, err
	case !w.Unhappy:
		return effect{}, fmt.Errorf("%w: Take of %s: it is not unhappy", survey.ErrActionRefused, publicID)
	case w.Assignee == o.By.Actor:
		return effect{}, fmt.Errorf("%w: Take of %s: it is with you", survey.ErrActionRefused, publicID)
	}
	return says("is with you from now on"), desk.Assign(ctx, scope, publicID, survey.Assignment{From: w.Assignee, To: o.By.Actor}, o.By)
}
