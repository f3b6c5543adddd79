package survey_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// action is one of those that support has.
type action func(ctx context.Context, scope survey.Scope, publicID string, by survey.By) error

// must acts, and fails if that was refused.
func (h *host) must(a action, id string) {
	h.t.Helper()
	if err := a(h.t.Context(), "", id, someone); err != nil {
		h.t.Fatal(err)
	}
}

// refused fails unless support is refused, for a reason that says so.
func (h *host) refused(a action, id, why string) {
	h.t.Helper()
	before := h.explain(id).Instance
	err := a(h.t.Context(), "", id, someone)
	if !errors.Is(err, survey.ErrActionRefused) || !strings.Contains(err.Error(), why) {
		h.t.Errorf("answered %v, want a refusal with %q", err, why)
	}
	if diff := cmp.Diff(before, h.explain(id).Instance); diff != "" {
		h.t.Errorf("a refused action changed the row: %s", diff)
	}
}

// What is on hold is neither sent nor expired; the schedule goes on from where it
// was.
func TestSupportHoldsALink(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(csiGR)
		h.must(h.survey.Support().Hold, id)
		h.at(10 * day)
		if i := h.status(id, survey.StatusPending); len(h.sent()) != 0 || !i.DueOn.IsZero() || i.ReasonCode != reasons.HeldBySupport {
			h.t.Fatalf("%d calls: %+v", len(h.sent()), i)
		}
		h.refused(h.survey.Support().Hold, id, "on hold already")
		h.must(h.survey.Support().Release, id)
		h.refused(h.survey.Support().Release, id, "not on hold")
		h.drain()
		if i := h.status(id, survey.StatusSent); len(h.sent()) != 1 || !i.NextSendOn.Equal(h.clock.Now().Add(day)) {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
		var done []string
		for _, a := range h.explain(id).Actions {
			done = append(done, a.Action+" by "+a.By.Actor+": "+a.By.Reason)
		}
		if diff := cmp.Diff([]string{"Hold by ann: the customer asked", "Release by ann: the customer asked"}, done); diff != "" {
			h.t.Error(diff)
		}
	})
}

// What waits for its next try is tried now, with its tries counted from zero.
func TestSupportRetriesASend(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.fails(errors.New("away"))
		id := h.linked(csiGR)
		h.drain()
		h.fails(nil)
		h.must(h.survey.Support().Retry, id)
		h.drain()
		if i := h.status(id, survey.StatusSent); len(h.sent()) != 2 || i.Tries != 0 || i.SendOrdinal != 1 {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
		h.at(day)
		h.refused(h.survey.Support().Retry, id, "as often as planned")
	})
}

// An extra send is one more than planned: the reminders come after it.
func TestSupportSendsALinkAgain(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("0d", []string{"5d", "10d"}))
		h.refused(h.survey.Support().Rerun, id, "not been sent yet")
		h.at(0)
		h.at(3 * day)
		h.must(h.survey.Support().Rerun, id)
		h.drain()
		if i := h.status(id, survey.StatusSent); len(h.sent()) != 2 || i.RemindersRemaining != 1 || !i.NextSendOn.Equal(start.Add(8*day)) {
			h.t.Fatalf("%d calls: %+v", len(h.sent()), i)
		}
		h.at(8 * day)
		h.at(18 * day)
		h.at(28 * day)
		if n := len(h.sent()); n != 4 {
			h.t.Fatalf("%d sends, want the three planned and the extra one", n)
		}
		h.must(h.survey.Support().Rerun, id) // after the last one as well
		h.drain()
		if i := h.status(id, survey.StatusSent); len(h.sent()) != 5 || !i.NextSendOn.IsZero() {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
		ids := map[string]bool{}
		for _, m := range h.sent() {
			ids[m.ID] = true
		}
		if len(ids) != 5 {
			h.t.Errorf("a provider would take some of %v for repeats", ids)
		}
	})
}

// What is stopped is not sent any more, and stays open until it expires.
func TestSupportStopsTheSends(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("0d", []string{"5d", "5d"}))
		h.at(0)
		h.must(h.survey.Support().Cancel, id)
		h.refused(h.survey.Support().Cancel, id, "nothing more is to be sent")
		h.at(5 * day)
		h.at(30*day - time.Second)
		if i := h.status(id, survey.StatusSent); len(h.sent()) != 1 || i.ReasonCode != reasons.SendsStopped {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
		h.at(30 * day)
		h.status(id, survey.StatusExpired)
		for _, a := range []action{h.survey.Support().Hold, h.survey.Support().Retry, h.survey.Support().Rerun, h.survey.Support().Cancel} {
			h.refused(a, id, "it is Expired")
		}
	})
}

// While the channel is being called, support can stop and hold what comes after;
// the call itself is not undone, and not made twice.
func TestSupportActsWhileTheChannelIsCalled(t *testing.T) {
	for name, act := range map[string]func(*host, string){
		"stop": func(h *host, id string) { h.must(h.survey.Support().Cancel, id) },
		"hold": func(h *host, id string) { h.must(h.survey.Support().Hold, id) },
		"retry": func(h *host, id string) {
			h.refused(h.survey.Support().Retry, id, "at this moment")
			h.must(h.survey.Support().Hold, id)
		},
		"send again": func(h *host, id string) {
			h.refused(h.survey.Support().Rerun, id, "at this moment")
			h.must(h.survey.Support().Cancel, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachHost(t, nil, func(h *host) {
				var id string
				h.use(survey.Options{}, through(func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
					act(h, id)
					return h.send(ctx, m)
				}))
				id = h.linked(csiGR)
				h.at(0)
				h.at(2 * day)
				i := h.status(id, survey.StatusSent)
				if len(h.sent()) != 1 || !i.LastSentOn.Equal(start) || i.SendOrdinal != 1 || !i.CallStartedOn.IsZero() {
					h.t.Errorf("%d calls: %+v", len(h.sent()), i)
				}
				if diff := cmp.Diff([]string{"0/1 delivered"}, h.log(id)); diff != "" {
					h.t.Error(diff)
				}
			})
		})
	}
}

// Support acts in its own scope, says who it is, and names a link that exists.
func TestSupportNeedsAScopeAndAReason(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(csiGR)
		ctx := h.t.Context()
		if err := h.survey.Support().Cancel(ctx, "another", id, someone); !errors.Is(err, storage.ErrNotFound) {
			h.t.Error(err)
		}
		if _, err := h.survey.Support().Explain(ctx, "another", id); !errors.Is(err, storage.ErrNotFound) {
			h.t.Error(err)
		}
		if err := h.survey.Support().Cancel(ctx, "", id, survey.By{Actor: "ann"}); err == nil {
			h.t.Error("an action without a reason")
		}
		h.drain()
		h.status(id, survey.StatusSent)
	})
}

// Explain says what would happen next, and why not more, and nothing of the
// customer.
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
		says("initial send, call 2: delivered as mem-", "now: reminder 1 goes out on 2026-05-15T07:12:34Z")
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
