package supporthttp

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/support"
)

// dryReason stands for the reason that a dry run is asked without, and is never stored.
const dryReason = "dry run"

// act shows what an action would do, and with a confirmation does it. What is wrong in the
// form is said beside it, and what was typed stays.
func (s *site) act(c *call) {
	form, ok := c.form()
	if !ok {
		return
	}
	want := ordered(form)
	if want.Action != support.Resolve {
		want.Evidence = ""
	}
	v := c.view("act", "")
	v.Back, v.Request = backTo(form.Get("back")), rand.Text()
	if len(want.Targets) == 0 {
		v.Page, v.Title, v.Problem = "problem", "Nothing was done", "Nothing was done: tick at least one row, and choose again."
		c.show(http.StatusUnprocessableEntity, v)
		return
	}
	if !c.caller.allowed(want.Action) {
		c.fail(http.StatusForbidden, "not allowed")
		return
	}
	if v.Named, ok = c.named(want.Targets); !ok {
		return
	}
	if want.Action == support.Take && want.Reason == "" {
		want.Reason = "to deal with it"
	}
	v.Order, v.Title = want, v.withOrder(want).Phrase()
	status := http.StatusOK
	if form.Get("confirm") == "yes" {
		if v.Wrong, v.Fault = v.lacks(&want); v.Wrong == "" && s.done(c, &v, want, form.Get("request")) {
			return
		}
		status = http.StatusUnprocessableEntity
	}
	s.dryRun(c, v, want, status)
}

func (v view) withOrder(o order) view {
	v.Order = o
	return v
}

// form reads the body of a form. It answers for itself unless it is true.
func (c *call) form() (form url.Values, ok bool) {
	if httpapi.Media(c.r) != "application/x-www-form-urlencoded" {
		c.fail(http.StatusUnsupportedMediaType, "the body is not a form")
		return nil, false
	}
	body, refused := httpapi.PlainBody(c.w, c.r, maxBody)
	if refused != nil {
		c.fail(refused.Status, refused.Title)
		return nil, false
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		c.fail(http.StatusBadRequest, "the form cannot be read: open the page again")
		return nil, false
	}
	if form.Has("tenant") {
		c.query.Set("tenant", form.Get("tenant"))
		if !c.tenant() {
			return nil, false
		}
	}
	if id := form.Get("request"); id != "" && !token(id) {
		c.fail(http.StatusUnprocessableEntity, "the form is not from this site: open the page again")
		return nil, false
	}
	return form, true
}

// maxNamed is how many targets of an action are named.
const maxNamed = 20

// named are the first targets as rows. It answers for itself unless it is true.
func (c *call) named(all []target) (out []entry, ok bool) {
	var ask []support.Target
	for _, t := range all[:min(len(all), maxNamed)] {
		key, ok := c.s.seal.open(c.scope, t.Key)
		if !ok {
			c.fail(http.StatusNotFound, nothing)
			return nil, false
		}
		ask = append(ask, support.Target{Kind: t.Kind, Key: key})
	}
	rows, err := c.s.desk.Rows(c.r.Context(), c.scope, ask...)
	if err != nil {
		c.refuse("the rows of the action could not be read", err)
		return nil, false
	}
	return c.entriesOf(rows), true
}

// lacks is which field of a form is wrong, and what to do about it. Whom an erasure is about
// may be named as the page heads them, or by the host's id.
func (v view) lacks(want *order) (field, text string) {
	if want.Action == support.SendTo && want.To == "" {
		return "to", "Write the new address."
	}
	if want.Action == support.Erase {
		e := v.Named[0]
		if want.Confirm != "" && strings.EqualFold(want.Confirm, e.Name) {
			want.Confirm = e.Key
		}
		if want.Confirm != e.Key {
			return "typed", "This does not match the person of the page. Type " + v.ToType() + "."
		}
	}
	if want.Reason == "" {
		return "reason", "Say why."
	}
	return "", ""
}

// ToType is what confirms an erasure.
func (v view) ToType() string {
	e := v.Named[0]
	if e.Name != "" {
		return "“" + e.Name + "” or “" + e.Key + "”"
	}
	return "“" + e.Key + "”"
}

// done does what is ordered, and answers; or says in v what is wrong with the form.
func (s *site) done(c *call, v *view, want order, request string) bool {
	o, ok := c.order(want)
	if !ok {
		return true
	}
	o.Request = request
	got, err := s.desk.Act(c.r.Context(), c.scope, o)
	switch {
	case errors.Is(err, support.ErrOrder):
		v.Wrong, v.Fault = "reason", invalid
		return false
	case err != nil:
		c.refuse("an action failed", err)
		return true
	}
	v.Acted, v.Done = c.actedOf(got, false), true
	if v.Acted.Done == 0 && want.Action == support.SendTo {
		v.Wrong, v.Fault, v.Done = "to", "Not sent: "+v.Acted.Targets[0].Refused+".", false
		return false
	}
	c.show(http.StatusOK, *v)
	return true
}

// dryRun shows the form with what it would do.
func (s *site) dryRun(c *call, v view, want order, status int) {
	want.DryRun, want.Reason = true, dryReason
	blank := want.Action == support.SendTo && (want.To == "" || v.Wrong == "to")
	if !blank {
		o, ok := c.order(want)
		if !ok {
			return
		}
		got, err := s.desk.Act(c.r.Context(), c.scope, o)
		if err != nil {
			c.refuse("an action failed", err)
			return
		}
		v.Acted = c.actedOf(got, true)
	} else {
		v.Acted.Done = 1
	}
	for _, t := range v.Order.Targets { // as the caller may have them, however they came
		if t.Part == nil {
			key, _ := c.s.seal.open(c.scope, t.Key)
			v.Picked = append(v.Picked, string(t.Kind)+" "+c.handle(key))
		}
	}
	if c.caller.Personal {
		v.Reasons, _ = s.desk.LastReasons(c.r.Context(), c.scope) // without them the form works as well
	}
	c.show(status, v)
}

// ordered is what a form asks for. A target is its kind and its key; a part of the work has
// fields of its own.
func ordered(form url.Values) order {
	trimmed := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	want := order{
		Action: support.Action(form.Get("action")), Decision: form.Get("decision"), Reason: trimmed("reason"),
		Evidence: trimmed("evidence"), Confirm: trimmed("typed"), To: trimmed("to"), Group: form.Get("group"),
	}
	if action, more, ok := strings.Cut(string(want.Action), " "); ok { // of one button
		want.Action = support.Action(action)
		if want.Action == support.Resolve {
			want.Decision = more
		} else {
			want.Group = more
		}
	}
	for _, t := range form["target"] {
		kind, key, _ := strings.Cut(t, " ")
		want.Targets = append(want.Targets, target{Kind: support.Kind(kind), Key: key})
	}
	if form.Get("domain") != "" {
		p := &part{Domain: form.Get("domain"), Setting: form.Get("setting"), Subscriber: form.Get("subscriber"), Everywhere: form.Get("everywhere") == "true", OwnAccount: form.Get("own") == "true"}
		p.From, _ = time.Parse(time.RFC3339, form.Get("hours-from")) // without them the order is refused
		p.Until, _ = time.Parse(time.RFC3339, form.Get("hours-until"))
		if name := trimmed("name"); form.Get("of") == "channel" {
			p.Channel = name
		} else {
			p.Type = name
		}
		want.Targets = append(want.Targets, target{Part: p})
	}
	return want
}

// backTo is where a form came from: one of our own pages with its parameters.
func backTo(text string) string {
	page, query, _ := strings.Cut(text, "?")
	if page != "story" && page != "needs" && page != "list" && page != "messages" && page != "message" && page != "unhappy" {
		return "./"
	}
	if _, err := url.ParseQuery(query); err != nil {
		return "./"
	}
	return page + "?" + query
}
