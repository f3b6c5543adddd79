package supporthttp

import (
	"net/http"
	"time"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/support"
)

func (s *site) apiStory(c *call) {
	about, p, ok := c.about()
	if !ok {
		return
	}
	got, err := s.desk.Story(c.r.Context(), c.scope, about, p)
	if err != nil {
		c.refuse("a story could not be told", err)
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
		c.refuse("a verdict could not be found", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, c.verdictOf(v))
}

func (s *site) apiSearch(c *call) {
	hits, err := c.find()
	if err != nil {
		c.refuse("a search failed", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, struct {
		Hits []hit `json:"hits"`
	}{c.hitsOf(hits)})
}

// find searches for what was typed. Who may not see names does not ask for them.
func (c *call) find() ([]support.Hit, error) {
	text, ok := c.s.seal.open(c.scope, c.query.Get("q"))
	if !ok {
		return nil, nil
	}
	return c.s.desk.Search(c.r.Context(), c.scope, text, c.caller.Personal)
}

func (s *site) apiNeeds(c *call) {
	reach, ok := c.reach()
	if !ok {
		return
	}
	all, err := s.desk.Needs(c.r.Context(), reach)
	if err != nil {
		c.refuse("what waits for a person could not be listed", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, struct {
		Needs []need `json:"needs"`
	}{c.needsOf(all)})
}

// waiting are the rows of one cause; After goes into "after" of the next request.
type waiting struct {
	Rows  []entry `json:"rows"`
	After string  `json:"after,omitempty"`
}

func (s *site) apiWaiting(c *call) {
	of, p, ok := c.need()
	if !ok {
		return
	}
	rows, next, err := s.desk.Waiting(c.r.Context(), c.scope, of, p)
	if err != nil {
		c.refuse("the rows of a cause could not be listed", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, waiting{c.entriesOf(rows), s.seal.close(c.scope, next)})
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
	all, err := s.desk.Health(c.r.Context(), reach)
	if err != nil {
		c.refuse("the health could not be read", err)
		return
	}
	httpapi.Reply(c.w, http.StatusOK, struct {
		Due []work `json:"due"`
	}{worksOf(all)})
}

func worksOf(all []support.DomainHealth) []work {
	out := []work{}
	for _, h := range all {
		for _, d := range h.Due {
			out = append(out, work{h.Domain, d.Table, d.Kind, d.Rows, d.Capped, d.OldestOn.UTC(), d.Served})
		}
	}
	return out
}

// code is a reason code with what it means.
type code struct {
	Package string `json:"package"`
	Code    string `json:"code"`
	Means   string `json:"means"`
}

func (s *site) apiReasons(c *call) {
	var out []code
	for _, r := range support.Codes() {
		out = append(out, code(r))
	}
	httpapi.Reply(c.w, http.StatusOK, struct {
		Reasons []code `json:"reasons"`
	}{out})
}

// maxBody bounds what a caller may send: a hundred sealed keys.
const maxBody = 256 << 10

func (s *site) apiAct(c *call) {
	if httpapi.Media(c.r) != "application/json" {
		c.fail(http.StatusUnsupportedMediaType, "the body is not application/json")
		return
	}
	body, refused := httpapi.PlainBody(c.w, c.r, maxBody)
	if refused != nil {
		httpapi.Refuse(c.w, refused)
		return
	}
	var want order
	if faults := strictjson.Decode(body, &want); len(faults) > 0 {
		httpapi.Refuse(c.w, httpapi.Problem{Status: http.StatusBadRequest, Title: "the body is not the JSON that is expected here", Detail: faults[0].Path + ": " + faults[0].Problem})
		return
	}
	o, ok := c.order(want)
	if !ok {
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
	if !c.caller.may(want.Action) {
		c.fail(http.StatusForbidden, "not allowed")
		return o, false
	}
	o = support.Order{Action: want.Action, Decision: notify.Decision(want.Decision), Until: want.Until, By: c.by(want.Reason), DryRun: want.DryRun}
	for _, t := range want.Targets {
		key, ok := c.s.seal.open(c.scope, t.Key)
		if !ok {
			c.fail(http.StatusNotFound, nothing)
			return o, false
		}
		to := support.Target{Kind: t.Kind, Key: key}
		if t.Part != nil {
			to.Part = support.Part{Domain: t.Part.Domain, Type: t.Part.Type, Channel: t.Part.Channel, Everywhere: t.Part.Everywhere}
			if to.Part.Everywhere && !c.caller.Everywhere {
				c.fail(http.StatusForbidden, "not allowed")
				return o, false
			}
		}
		o.Targets = append(o.Targets, to)
	}
	return o, true
}
