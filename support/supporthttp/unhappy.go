package supporthttp

import (
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// unhappyList is which unhappy responses a page shows, as its address says.
type unhappyList struct {
	From, To     string // days in the caller's zone, both among it; empty: unbounded
	State, Queue string
	Mine         bool
	Total        string
	States       []count
	Queues       []count
}

// pairs are the parameters of a link to it.
func (l unhappyList) pairs() []string {
	mine := ""
	if l.Mine {
		mine = "true"
	}
	return []string{"from", l.From, "to", l.To, "state", l.State, "queue", l.Queue, "mine", mine}
}

// workStates are the states that a list may be of.
var workStates = []struct {
	state survey.WorkState
	name  string
}{{"", "To be handled"}, {survey.WorkOpen, "Not assigned"}, {survey.WorkAssigned, "Assigned"}, {survey.WorkHandled, "Handled"}}

// day is the beginning of a day in the caller's zone, or of one so many days after it; empty: zero.
func (c *call) day(text string, after int) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	d, err := civil.ParseDate(text)
	if err != nil {
		return time.Time{}, err
	}
	return d.AddDays(after).Start(c.zone())
}

// unhappy reads the parameters. It answers for itself unless it is true.
func (c *call) unhappy() (l unhappyList, q survey.WorklistQuery, ok bool) {
	l = unhappyList{From: c.query.Get("from"), To: c.query.Get("to"), State: c.query.Get("state"), Queue: c.query.Get("queue"), Mine: c.query.Has("mine")}
	q = survey.WorklistQuery{State: survey.WorkState(l.State), Queue: l.Queue}
	if l.Mine {
		q.Assignee = c.caller.Actor
	}
	known := false
	for _, s := range workStates {
		known = known || s.state == q.State
	}
	var bad, worse error
	q.Since, bad = c.day(l.From, 0)
	q.Until, worse = c.day(l.To, 1)
	if ok = known && bad == nil && worse == nil && utf8.ValidString(l.Queue) && !strings.ContainsFunc(l.Queue, unicode.IsControl); !ok {
		c.fail(http.StatusUnprocessableEntity, "no responses can be shown: days are written 2026-04-17, and the state is one of those that the page names")
	}
	return l, q, ok
}

// unhappy shows unhappy responses.
func (s *site) unhappy(c *call) {
	l, q, ok := c.unhappy()
	if !ok {
		return
	}
	in, ok := c.opened("after")
	if !ok {
		return
	}
	q.Page = storage.Page{After: in[0], Limit: pageRows}
	rows, page, err := s.desk.Unhappy(c.r.Context(), c.scope, q)
	if err != nil {
		c.refuse("the unhappy responses could not be listed", err)
		return
	}
	v := c.view("unhappy", "Unhappy responses")
	l.Total = number(page.Total, false)
	for _, s := range workStates {
		to := l
		to.State = string(s.state)
		l.States = append(l.States, count{Name: s.name, Link: v.Link("unhappy", to.pairs()...), Here: s.state == q.State})
	}
	for _, in := range page.Queues {
		if in.Queue != "" {
			l.Queues = append(l.Queues, count{Name: fmt.Sprintf("%s (%s)", in.Queue, number(in.N, false)), State: in.Queue, Here: in.Queue == l.Queue})
		}
	}
	v.Unhappy, v.Days, v.Back = l, c.byDay(c.entriesOf(rows)), c.r.URL.RawQuery
	if page.Next != "" {
		v.Next = v.Link("unhappy", append(l.pairs(), "after", s.seal.close(c.scope, page.Next))...)
	}
	c.show(http.StatusOK, v)
}
