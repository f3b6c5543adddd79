package survey_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/survey"
)

// Explain says what would happen next, and why not more, and nothing of the
// customer.
//
//spec:t-086
func TestExplainTellsTheStoryOfALink(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("1h", []string{"1d"}))
		says := func(want ...string) {
			h.t.Helper()
			text := h.explain(id).String()
			for _, w := range want {
				if !strings.Contains(text, w) {
					h.t.Errorf("missing %q in:\n%s", w, text)
				}
			}
			for _, personal := range []string{"+964", "cust-123", "planted-name", "40956"} {
				if strings.Contains(text, personal) {
					h.t.Errorf("%q in:\n%s", personal, text)
				}
			}
		}
		says("Pending", "survey 4523, version 1, visit, event:service-visit-closed", "now: initial send goes out on 2026-05-14T06:12:34Z; reminders after it: 1; not sent by 2026-06-13T06:12:34Z it expires")
		h.fails(errors.New("away"))
		h.at(time.Hour)
		says("initial send, call 1: failed (error)", "failed tries of the present send: 1", "put off for error")
		h.fails(nil)
		h.at(2 * time.Hour)
		says("initial send, call 2: delivered as mem-"+id, "now: reminder 1 goes out on 2026-05-15T07:12:34Z")
		h.must(h.survey.Support().Hold, id)
		says("Hold by ann: the customer asked", "now: nothing, until support releases it")
		h.must(h.survey.Support().Release, id)
		h.at(2*time.Hour + day)
		says("reminder 1, call 3: delivered", "now: every send was made; without a response it expires on 2026-06-14T07:12:34Z")
		h.at(40 * day)
		says("Expired on", "now: nothing more")
	})
}

// Explain tells that nobody serves a channel.
func TestExplainSaysThatNobodyHasTheChannel(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{})
		id := h.linked(csiGR)
		h.drain()
		if now := h.explain(id).Now; !strings.Contains(now, "no process with its channel has been seen yet") {
			h.t.Error(now)
		}
	})
}
