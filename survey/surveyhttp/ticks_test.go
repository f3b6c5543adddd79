package surveyhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// Any number of outside timers may tick at once: together they send each link once,
// and each says how much of it was its own.
func TestTicksAtOnceSendEachLinkOnce(t *testing.T) {
	eachHost(t, func(h *host) {
		const links, timers = 24, 4
		h.visits(links)
		sums := make([]int, timers)
		var all sync.WaitGroup
		for i := range timers {
			all.Go(func() {
				for {
					status, text := h.tell(tickPath, "")
					var done struct{ Processed int }
					if err := json.Unmarshal([]byte(text), &done); err != nil || status != 200 {
						h.Error(status, text)
						return
					}
					if sums[i] += done.Processed; done.Processed == 0 {
						return
					}
				}
			})
		}
		all.Wait()
		sum := 0
		for _, n := range sums {
			sum += n
		}
		slices.Sort(h.texts)
		if distinct := len(slices.Compact(slices.Clone(h.texts))); sum != links || len(h.texts) != links || distinct != links {
			h.Errorf("%v ticked %d links, %d were sent, %d of them different", sums, sum, len(h.texts), distinct)
		}
	})
}

func TestATickTakesItsBatch(t *testing.T) {
	eachHost(t, func(h *host) {
		h.visits(5)
		for _, want := range []int{3, 2, 0} {
			if status, text := h.tell(tickPath, ""); status != 200 || text != fmt.Sprintf("{\"processed\":%d}\n", want) {
				h.Error(status, text)
			}
		}
	})
}

// A tick says how many calls of subscribers failed, so that whoever ticks can raise the alarm.
func TestATickTellsOfSubscribersThatFail(t *testing.T) {
	eachHost(t, func(h *host) {
		for _, key := range []string{"bi", "tickets"} {
			h.survey.Subscribe(survey.SubscriberFunc(key, func(context.Context, survey.ResponseCompleted) error {
				if key == "bi" {
					return nil
				}
				return errors.New("down")
			}))
		}
		h.form(h.link("en"), good)
		if status, text := h.tell(tickPath, ""); status != 200 || text != "{\"processed\":2,\"dispatched\":1,\"failed\":1}\n" {
			h.Error(status, text)
		}
	})
}

// visits tells of n visits, to an API whose ticks take three rows each.
func (h *host) visits(n int) {
	h.Helper()
	h.publish(csiGR)
	h.api = surveyhttp.API(h.survey, letIn, &surveyhttp.APIOptions{BatchSize: 3})
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"payload":{"wip":"%d","jobType":"GR"},"recipient":{"address":"customer-%[1]d"}}`, i)
	}
	if status, text := h.tell(ingestPath, `{"eventKind":"service-visit-closed","items":[`+strings.Join(items, ",")+`]}`); status != 200 {
		h.Fatal(status, text)
	}
}
