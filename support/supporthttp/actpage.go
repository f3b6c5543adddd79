package supporthttp

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/support"
)

// rehearsed stands for the reason that a dry run is asked without, and is never stored.
const rehearsed = "dry run"

// act shows what an action would do, and with a confirmation does it.
func (s *site) act(c *call) {
	if httpapi.Media(c.r) != "application/x-www-form-urlencoded" {
		c.fail(http.StatusUnsupportedMediaType, "the body is no form")
		return
	}
	body, refused := httpapi.PlainBody(c.w, c.r, maxBody)
	if refused != nil {
		c.fail(refused.Status, refused.Title)
		return
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		c.fail(http.StatusBadRequest, "the form cannot be read")
		return
	}
	if form.Has("tenant") {
		c.query.Set("tenant", form.Get("tenant"))
		if !c.tenant() {
			return
		}
	}
	want := ordered(form)
	if want.Action != support.Resolve {
		want.Evidence = ""
	}
	confirmed := form.Get("confirm") == "yes"
	if !confirmed {
		want.DryRun, want.Reason = true, rehearsed
	}
	o, ok := c.order(want)
	if !ok {
		return
	}
	if o.Request = form.Get("request"); o.Request != "" && !token(o.Request) {
		c.fail(http.StatusUnprocessableEntity, "the form was not made here")
		return
	}
	got, err := s.desk.Act(c.r.Context(), c.scope, o)
	if err != nil {
		c.refuse("an action failed", err)
		return
	}
	v := view{Page: "act", Title: string(want.Action), Order: want, Acted: c.actedOf(got, o.DryRun), Done: confirmed, Back: backTo(form.Get("back")), Request: rand.Text()}
	for _, t := range v.Acted.Targets { // as the caller may have them, however they came
		if t.Part == nil {
			v.Picked = append(v.Picked, string(t.Kind)+" "+t.Key)
		}
	}
	c.show(http.StatusOK, v)
}

// ordered is what a form asks for. A target is its kind and its key; a part of the work has
// fields of its own.
func ordered(form url.Values) order {
	want := order{Action: support.Action(form.Get("action")), Decision: form.Get("decision"), Reason: strings.TrimSpace(form.Get("reason")),
		Evidence: strings.TrimSpace(form.Get("evidence")), Confirm: strings.TrimSpace(form.Get("typed"))}
	if action, decision, ok := strings.Cut(string(want.Action), " "); ok { // of one button
		want.Action, want.Decision = support.Action(action), decision
	}
	for _, t := range form["target"] {
		kind, key, _ := strings.Cut(t, " ")
		want.Targets = append(want.Targets, target{Kind: support.Kind(kind), Key: key})
	}
	if form.Get("domain") != "" {
		p := &part{Domain: form.Get("domain"), Setting: form.Get("setting"), Subscriber: form.Get("subscriber"), Everywhere: form.Get("everywhere") == "true"}
		if name := strings.TrimSpace(form.Get("name")); form.Get("of") == "channel" {
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
	if page != "story" && page != "needs" && page != "list" {
		return "./"
	}
	if _, err := url.ParseQuery(query); err != nil {
		return "./"
	}
	return page + "?" + query
}
