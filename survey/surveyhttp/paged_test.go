package surveyhttp_test

import (
	"net/url"
	"strings"
	"testing"
)

// paged is a form of three pages, the second of which is for those who complain.
const paged = `{"intro": "Two minutes.", "questions": [
	{"id": "first", "type": "page", "label": "Your visit to {{.Value \"city\"}}", "help": "As you remember it."},
	{"id": "rate", "type": "rating", "required": true}, {"id": "late", "type": "yesNo"}, {"id": "hours", "type": "number", "when": {"questionId": "late", "op": "==", "value": "yes"}},
	{"id": "second", "type": "page", "label": "Your complaint"},
	{"id": "what", "type": "text", "required": true, "when": {"questionId": "rate", "op": "<", "value": 3}},
	{"id": "third", "type": "page"},
	{"id": "name", "type": "text", "required": true}
], "triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`

// A form goes page by page, and says how far it is: what is wrong on a page is said there, a page
// that asks nothing is passed over, the way back checks nothing, and nothing is stored before the
// last.
func TestAFormGoesPageByPage(t *testing.T) {
	eachHost(t, func(h *host) {
		h.publish(paged)
		token := h.visit("1", "en")
		form := url.Values{}
		step := func(status int, page string, set url.Values, want ...string) {
			h.Helper()
			for name, values := range set {
				form[name] = values
			}
			got, text := h.form(token, form.Encode())
			if got != status || page != "" && !strings.Contains(text, ">Page "+page+" of 3<") && !strings.Contains(text, "</progress> Page "+page+" of 3</p>") {
				h.Errorf("%v: %d, want %d and page %s of\n%s", set, got, status, page, shown(text))
			}
			h.says(text, want...)
			if page != "" && h.answers() != "" {
				h.Errorf("stored before the last page: %s", h.answers())
			}
			delete(form, "to")
			form.Set("page", page)
		}
		_, page := h.get("/s/" + token)
		h.says(page, "</progress> Page 1 of 3</p>", "Two minutes.", `<h2 dir="auto">Your visit to </h2>`, "As you remember it.", `<button type="submit">Next</button>`, "(Page 1 of 3)</title>")
		if strings.Contains(page, `value="back"`) {
			h.Error("there is a way back from the first page")
		}
		form.Set("page", "1")
		step(422, "1", url.Values{"q.rate": {""}}, "Please answer this question.")
		step(200, "1", url.Values{"q.rate": {"1"}, "q.late": {"yes"}}, `value="hours"`, "follow from your answers")
		step(422, "1", url.Values{"shown": {"hours"}, "q.hours": {"long"}}, "Enter a number.")
		step(200, "2", url.Values{"q.hours": {"2"}}, `<h2 dir="auto">Your complaint</h2>`, `value="back"`, `value="1" checked`)
		step(422, "2", url.Values{"shown": {"hours", "what"}, "q.what": {""}}, "Please answer this question.")
		step(200, "1", url.Values{"to": {"back"}}, "Your visit to")
		step(200, "3", url.Values{"q.rate": {"4"}}, `<button type="submit">Send answers</button>`)
		step(200, "1", url.Values{"to": {"back"}})
		step(200, "2", url.Values{"q.rate": {"2"}}, `value="what"`)
		step(200, "3", url.Values{"q.what": {"The coffee."}})
		step(422, "1", url.Values{"q.name": {"Ann"}, "q.rate": {"9"}}, "Enter a number that is not above 5.")
		form.Set("page", "3")
		step(200, "", url.Values{"q.rate": {"2"}})
		if want := `{"hours":2,"late":"yes","name":"Ann","rate":2,"what":"The coffee."}`; h.answers() != want {
			h.Errorf("stored %s, want %s", h.answers(), want)
		}
	})
}

// A form that is sent whole is taken whole, whatever it says of pages.
func TestAFormOfPagesIsTakenWhole(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"", "3", "4", "x", "-1"} {
		h := memoryHost(t)
		h.publish(paged)
		form := url.Values{"q.rate": {"5"}, "q.name": {"Ann"}}
		if page != "" {
			form.Set("page", page)
		}
		if status, text := h.form(h.visit("1", "en"), form.Encode()); status != 200 || h.answers() != `{"name":"Ann","rate":5}` {
			t.Errorf("page %q: %d %s\n%s", page, status, h.answers(), shown(text))
		}
	}
}
