package surveyhttp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

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
