package supporthttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

func (s *site) apiStory(c *call) {
	about, p, ok := c.about()
	if !ok {
		return
	}
	got, err := s.desk.Story(c.r.Context(), c.scope, about, p)
	if err != nil {
		c.refuse("the timeline could not be read", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, c.storyOf(got))
}

func (s *site) apiVerdict(c *call) {
	in, ok := c.opened("person", "type")
	if !ok {
		return
	}
	v, err := s.desk.Verdict(c.r.Context(), c.scope, in[0], in[1])
	if err != nil {
		c.refuse("the delivery status could not be read", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, c.verdictOf(v))
}

// wanted is the body of a search.
type wanted struct {
	Q string `json:"q"` // as it was typed
}

func (s *site) apiSearch(c *call) {
	var want wanted
	if !c.body(&want) {
		return
	}
	hits, more, err := c.find(want.Q)
	if err != nil {
		c.refuse("a search failed", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, found{c.hitsOf(hits), more})
}

// find searches for what was typed. Who may not see names does not ask for them.
func (c *call) find(text string) (hits []support.Hit, more bool, err error) {
	return c.s.desk.Search(c.r.Context(), c.scope, text, c.caller.Personal)
}

func (s *site) apiNeeds(c *call) {
	reach, ok := c.reach()
	if !ok {
		return
	}
	health, err := s.desk.Health(c.r.Context(), reach)
	if err != nil {
		c.refuse("what needs attention could not be listed", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, needs{c.needsOf(health.Needs)})
}

// rows are a page of a list; After goes into "after" of the next request.
type rows struct {
	Rows  []entry `json:"rows"`
	After string  `json:"after,omitempty"`
}

// apiList answers with a page of a list.
func (s *site) apiList(c *call, of support.List) {
	in, ok := c.opened("after")
	if !ok {
		return
	}
	p := storage.Page{After: in[0]}
	if c.query.Has("limit") {
		n, err := strconv.Atoi(c.query.Get("limit"))
		if err != nil || n < 1 || n > support.MaxTargets {
			c.fail(http.StatusUnprocessableEntity, "limit must be a number from 1 to 100")
			return
		}
		p.Limit = n
	}
	list := func() ([]support.Entry, string, error) { return s.desk.List(c.r.Context(), c.scope, of, p) }
	if of == support.Messages || of == support.Reminders {
		if c.query.Has("from") || c.query.Has("to") {
			_, made, ok := c.filter()
			if !ok {
				return
			}
			list = func() ([]support.Entry, string, error) { return s.desk.Messages(c.r.Context(), c.scope, made, p) }
			if of == support.Reminders {
				list = func() ([]support.Entry, string, error) {
					return s.desk.Withheld(c.r.Context(), c.scope, planned(made), c.caller.Personal, p)
				}
			}
		}
	}
	all, next, err := list()
	if err != nil {
		c.refuse("a list could not be read", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, rows{c.entriesOf(all), s.seal.close(c.scope, next)})
}

func (s *site) apiWaiting(c *call) {
	of, p, ok := c.need()
	if !ok {
		return
	}
	all, next, err := s.desk.Waiting(c.r.Context(), c.scope, of, p)
	if err != nil {
		c.refuse("the rows of a cause could not be listed", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, rows{c.entriesOf(all), s.seal.close(c.scope, next)})
}

// work is how the due rows of one channel or type are doing.
type work struct {
	Domain   string    `json:"domain"`
	Table    string    `json:"table"`
	Kind     string    `json:"kind,omitempty"`
	Rows     int       `json:"rows"` // that are due and wait
	Capped   bool      `json:"capped,omitempty"`
	OldestOn time.Time `json:"oldestOn,omitzero"`
	Served   bool      `json:"served"`
}

func (s *site) apiHealth(c *call) {
	reach, ok := c.reach()
	if !ok {
		return
	}
	health, err := s.desk.Health(c.r.Context(), reach)
	if err != nil {
		c.refuse("the health could not be read", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, atWork{c.worksOf(health.Domains)})
}

func (c *call) worksOf(all []support.DomainHealth) []work {
	out := []work{}
	for _, h := range all {
		for _, d := range h.Due {
			out = append(out, work{h.Domain, d.Table, d.Kind, d.Rows, d.Capped, c.at(d.OldestOn), d.Served})
		}
	}
	return out
}

// fortnight is how many days a calendar has.
const fortnight = 14

func (s *site) apiCalendar(c *call) {
	days, more, err := s.desk.Calendar(c.r.Context(), c.scope, time.UTC, fortnight)
	if err != nil {
		c.refuse("the calendar could not be read", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, c.calendarOf(days, more))
}

func (s *site) apiUpcoming(c *call) {
	in, ok := c.opened("after")
	if !ok {
		return
	}
	from, until, ok := c.span(c.query.Get("from"), c.query.Get("to"))
	if !ok {
		return
	}
	all, next, err := s.desk.Upcoming(c.r.Context(), c.scope, from, until, c.caller.Personal, storage.Page{After: in[0]})
	if err != nil {
		c.refuse("what is planned could not be read", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, rows{c.entriesOf(all), s.seal.close(c.scope, next)})
}

// code is a reason code with what it means.
type code struct {
	Code  string `json:"code"`
	Means string `json:"means"`
}

func (s *site) apiReasons(c *call) {
	var out codes
	for _, r := range support.Codes() {
		out.Reasons = append(out.Reasons, code(r))
	}
	httpapi.Reply(c.w, http.StatusOK, out)
}

// maxBody bounds what a caller may send: a hundred sealed keys.
const maxBody = 256 << 10

// body reads a body in JSON. It answers for itself unless it is true.
func (c *call) body(into any) bool {
	if httpapi.Media(c.r) != "application/json" {
		c.fail(http.StatusUnsupportedMediaType, "the body must be application/json")
		return false
	}
	body, refused := httpapi.PlainBody(c.w, c.r, maxBody)
	if refused != nil {
		httpapi.Refuse(c.w, refused)
		return false
	}
	if faults := strictjson.Decode(body, into); len(faults) > 0 {
		httpapi.Refuse(c.w, httpapi.Problem{Status: http.StatusBadRequest, Title: "the body is not the JSON that this route takes", Detail: faults[0].Path + ": " + faults[0].Problem})
		return false
	}
	return true
}

func (s *site) apiAct(c *call) {
	var want order
	if !c.body(&want) {
		return
	}
	o, ok := c.order(want)
	if !ok {
		return
	}
	if o.Request, ok = c.request(); !ok {
		return
	}
	got, err := s.desk.Act(c.r.Context(), c.scope, o)
	if err != nil {
		c.refuse("an action failed", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, c.actedOf(got, o.DryRun))
}

// order is what is asked for, by a caller who may. It answers for itself unless it is true.
func (c *call) order(want order) (o support.Order, ok bool) {
	if !c.caller.allowed(want.Action) {
		c.fail(http.StatusForbidden, "not allowed")
		return o, false
	}
	o = support.Order{
		Action: want.Action, Decision: notify.Decision(want.Decision), Evidence: want.Evidence, Until: want.Until,
		Confirm: want.Confirm, To: want.To, Group: want.Group, By: c.by(want.Reason), DryRun: want.DryRun,
	}
	for _, a := range want.Addresses {
		o.Addresses = append(o.Addresses, notify.Destination{Method: a.Method, Address: a.Address})
	}
	for _, t := range want.Targets {
		key, ok := c.s.seal.open(c.scope, t.Key)
		if !ok {
			c.fail(http.StatusNotFound, nothing)
			return o, false
		}
		to := support.Target{Kind: t.Kind, Key: key}
		if t.Part != nil {
			to.Part = support.Part(*t.Part)
			if to.Part.Everywhere && !c.caller.Everywhere {
				c.fail(http.StatusForbidden, "not allowed")
				return o, false
			}
		}
		o.Targets = append(o.Targets, to)
	}
	return o, true
}

// request is the id that the caller has given to a request, as Idempotency-Key.
func (c *call) request() (id string, ok bool) {
	given := c.r.Header.Values("Idempotency-Key")
	if len(given) == 0 {
		return "", true
	}
	if len(given) > 1 || !token(given[0]) {
		c.fail(http.StatusUnprocessableEntity, "Idempotency-Key must be one value of 1 to 200 visible ASCII characters")
		return "", false
	}
	return given[0], true
}

func token(text string) bool {
	for i := range len(text) {
		if text[i] < 0x21 || text[i] > 0x7e {
			return false
		}
	}
	return len(text) >= 1 && len(text) <= 200
}
