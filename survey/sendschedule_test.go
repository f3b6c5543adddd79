package survey_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/survey"
)

// scheduled are the columns that the document shows before and after a tick.
type scheduled struct {
	Status             string
	NextSendOn         time.Time
	LastSentOn         time.Time
	RemindersRemaining int
	Log                []string
}

func (h *host) scheduled(id string) scheduled {
	i := h.explain(id).Instance
	return scheduled{i.Status, i.NextSendOn, i.LastSentOn, i.RemindersRemaining, h.log(id)}
}

// The document's walk: one reminder after a day.
//
//spec:t-037 t-065 t-069
func TestTheScheduleWithOneReminder(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(csiGR)
		same := func(what string, want scheduled) {
			h.t.Helper()
			if diff := cmp.Diff(want, h.scheduled(id)); diff != "" {
				h.t.Errorf("%s: %s", what, diff)
			}
		}
		same("before the tick", scheduled{Status: survey.StatusPending, NextSendOn: start, RemindersRemaining: 1})
		first := start.Add(26 * time.Second) // 05:13:00
		h.clock.Set(first)
		h.drain()
		want := scheduled{survey.StatusSent, first.Add(day), first, 0, []string{"0/1 delivered"}}
		same("after the tick", want)
		h.clock.Add(5 * time.Minute)
		h.drain()
		same("five minutes later", want)
		second := first.Add(day)
		h.clock.Set(second)
		h.drain()
		same("a day later", scheduled{survey.StatusSent, time.Time{}, second, 0, []string{"0/1 delivered", "1/2 delivered"}})
		h.clock.Add(20 * day)
		h.drain()
		if got := attempts(h.sent()); !cmp.Equal(got, []int{1, 2}) {
			h.t.Errorf("the attempts are %v", got)
		}
		h.status(id, survey.StatusSent)
	})
}

// The cadence of new vehicles, through the pass.
//
//spec:t-038
func TestTheLongScheduleIsSentOnItsDays(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("60d", []string{"5d", "10d", "15d"}))
		var days []int
		for _, n := range []int{0, 59, 60, 61, 64, 65, 74, 75, 89, 90, 91, 119, 120} {
			before := len(h.sent())
			h.at(time.Duration(n) * day)
			if len(h.sent()) > before {
				days = append(days, n)
			}
		}
		if diff := cmp.Diff([]int{60, 65, 75, 90}, days); diff != "" {
			h.t.Error(diff)
		}
		h.status(id, survey.StatusExpired) // 30 days after the last
	})
}

//spec:t-039
func TestAScheduleWithoutReminders(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		id := h.linked(definition("15m", nil))
		h.drain()
		if n := len(h.sent()); n != 0 {
			h.t.Fatalf("%d links before their time", n)
		}
		h.at(15 * time.Minute)
		if i := h.status(id, survey.StatusSent); !i.NextSendOn.IsZero() || !i.StoppedOn.Equal(h.clock.Now()) || i.Type != "" {
			h.t.Errorf("the row is %+v", i)
		}
	})
}

func attempts(calls []notify.Message) (out []int) {
	for _, m := range calls {
		out = append(out, m.Attempt)
	}
	return out
}
