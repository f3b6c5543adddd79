package survey_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

const poster = `{"unhappy": {"questionId": "stars", "op": "<=", "value": 2}, "questions": [{"id": "stars", "type": "rating", "required": true}],
	"openLinks": [{"id": "poster", "enabled": true, "subscribers": [{"key": "listener"}]}]}`

// poster publishes an open link, and gives its token.
func (h *host) poster(definition string) string {
	h.t.Helper()
	h.publish(definition)
	link, err := h.survey.OpenLink(h.t.Context(), "", 4523, "poster")
	if err != nil {
		h.t.Fatal(err)
	}
	return tokenOf(link)
}

// Anybody answers by an open link; each form counts once, by its own key, however often it is
// sent at the same time. Nothing is written before.
func TestAnOpenLinkIsAnsweredByMany(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		listener := listen(h.survey, "listener")
		h.drain()
		token := h.poster(poster)
		form, err := h.survey.Form(h.t.Context(), token)
		if err != nil || !form.Open || form.State != survey.FormOpen || len(form.Definition.Questions) != 1 {
			h.t.Fatalf("%+v %v", form, err)
		}
		h.done(h.survey.Opened(h.t.Context(), token))
		if list, _, err := h.survey.Support().Instances(h.t.Context(), "", survey.Selection{SurveyID: 4523}, storage.Page{}); err != nil || len(list) != 0 {
			h.t.Errorf("a form that is looked at has written %v, %v", list, err)
		}
		submit := func(nonce, answers string) (survey.Receipt, error) {
			return h.survey.Submit(h.t.Context(), token, survey.Response{Answers: json.RawMessage(answers), IdempotencyKey: nonce})
		}
		for n := range 6 {
			receipts := make([]survey.Receipt, 3)
			var wg sync.WaitGroup
			for i := range receipts {
				wg.Go(func() {
					var err error
					if receipts[i], err = submit(fmt.Sprint("form ", n), fmt.Sprintf(`{"stars": %d}`, 1+n%5)); err != nil {
						h.t.Error(err)
					}
				})
			}
			wg.Wait()
			if receipts[0].PublicID != receipts[1].PublicID || receipts[1].PublicID != receipts[2].PublicID || receipts[0].Token == "" || receipts[0].Token != receipts[2].Token {
				h.t.Errorf("a form that was sent three times at once: %+v", receipts)
			}
			if own, err := h.survey.Form(h.t.Context(), receipts[0].Token); err != nil || own.Open || own.State != survey.FormAnswered {
				h.t.Errorf("its own link: %+v %v", own, err)
			}
		}
		if other, err := submit("form 5", `{"stars": 5}`); err != nil || other.Repeated {
			h.t.Errorf("the next one at the same form: %+v %v", other, err)
		}
		for nonce, answers := range map[string]string{"": `{"stars": 1}`, "wrong": `{"stars": 9}`} {
			if _, err := submit(nonce, answers); err == nil || errors.Is(err, survey.ErrNoSurvey) {
				h.t.Errorf("%q: %v", nonce, err)
			}
		}
		h.drain()
		if got := listener.hear(); len(got) != 7 || listener.last.TriggerID != "poster" || listener.last.CustomerRef != "" {
			h.t.Errorf("%v %+v", got, listener.last)
		}
		result, err := h.survey.Results().Get(h.t.Context(), "", survey.ResultQuery{SurveyID: 4523, By: survey.ByTrigger})
		if g := result.Groups; err != nil || len(g) != 1 || g[0].Value != "poster" || g[0].Responses != 7 || g[0].Asked != 7 || g[0].Answered != 7 {
			h.t.Errorf("%+v %v", result, err)
		}
		if page, err := h.survey.Support().Worklist(h.t.Context(), "", survey.WorklistQuery{SurveyID: 4523}); err != nil || page.Total != 3 {
			h.t.Errorf("%d are listed: %v", page.Total, err)
		}
	})
}

// An open link stays the same through versions, ends with its trigger, and comes back with it. It
// is one tenant's, and takes no event.
func TestAnOpenLinkIsThatOfItsTrigger(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		listen(h.survey, "listener")
		token := h.poster(poster)
		if again := h.poster(strings.Replace(poster, `"required": true`, `"required": true, "max": 7`, 1)); again != token {
			h.t.Error("another version has another link")
		}
		if form, err := h.survey.Form(h.t.Context(), token); err != nil || form.Version != 2 {
			h.t.Errorf("%+v %v", form, err)
		}
		h.publish(strings.Replace(poster, `"enabled": true`, `"enabled": false`, 1))
		if _, err := h.survey.Form(h.t.Context(), token); !errors.Is(err, survey.ErrNoSurvey) {
			h.t.Errorf("it is switched off: %v", err)
		}
		if _, err := h.survey.Submit(h.t.Context(), token, survey.Response{Answers: json.RawMessage(`{"stars": 1}`), IdempotencyKey: "x"}); !errors.Is(err, survey.ErrNoSurvey) {
			h.t.Errorf("it is switched off: %v", err)
		}
		if back := h.poster(poster); back != token {
			h.t.Error("it has come back as another")
		}
		for name, c := range map[string]struct {
			scope   survey.Scope
			trigger string
		}{"another tenant": {"another", "poster"}, "another trigger": {"", "t"}} {
			if _, err := h.survey.OpenLink(h.t.Context(), c.scope, 4523, c.trigger); !errors.Is(err, storage.ErrNotFound) {
				h.t.Errorf("%s: %v", name, err)
			}
		}
		h.publish(secret)
		if _, err := h.survey.OpenLink(h.t.Context(), "", 4523, "t"); !errors.Is(err, storage.ErrNotFound) {
			h.t.Errorf("a trigger of events: %v", err)
		}
	})
}

// A link that is printed outlives the change of the key that it was made with.
func TestAnOpenLinkOutlivesTheChangeOfItsKey(t *testing.T) {
	t.Parallel()
	eachHost(t, &survey.Options{LinkKey: hostsKey}, func(h *host) {
		listen(h.survey, "listener")
		token := h.poster(poster)
		h.survey = h.service(&survey.Options{LinkKey: newKey, OldLinkKeys: [][]byte{hostsKey}})
		listen(h.survey, "listener")
		if again := h.poster(strings.Replace(poster, `"required": true`, `"required": true, "max": 7`, 1)); again != token {
			h.t.Error("another key has made another link")
		}
		if form, err := h.survey.Form(h.t.Context(), token); err != nil || form.Version != 2 {
			h.t.Errorf("%+v %v", form, err)
		}
	})
}

// What is left of a response by an open link goes with its time: no event makes it again.
func TestAnOpenLinkLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.forgetting()
		listen(h.survey, "listener")
		receipt, err := h.survey.Submit(h.t.Context(), h.poster(poster), survey.Response{Answers: json.RawMessage(`{"stars": 5}`), IdempotencyKey: "form"})
		if err != nil {
			h.t.Fatal(err)
		}
		h.days(40)
		if _, _, err := h.survey.Support().Instance(h.t.Context(), "", receipt.PublicID); !errors.Is(err, storage.ErrNotFound) {
			h.t.Errorf("its instance: %v", err)
		}
		if _, err := h.survey.Responses().Get(h.t.Context(), "", receipt.PublicID); err != nil {
			h.t.Errorf("its response: %v", err)
		}
	})
}

// From one address come so many responses in an hour, and no more; others, and the next hour, are free.
func TestAnAddressSendsSoManyByOpenLinksInAnHour(t *testing.T) {
	t.Parallel()
	onMemoryHost(t, &survey.Options{OpenPerHour: 2}, func(h *host) {
		listen(h.survey, "listener")
		token := h.poster(poster)
		send := func(n int, address string) error {
			_, err := h.survey.Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(`{"stars": 5}`), IdempotencyKey: fmt.Sprint(n), Address: address})
			return err
		}
		for n, address := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "", "", ""} {
			if err := send(n, address); err != nil {
				t.Errorf("%d from %s: %v", n, address, err)
			}
		}
		if err := send(10, "192.0.2.1"); !errors.Is(err, survey.ErrTooMany) {
			t.Errorf("the third of the hour: %v", err)
		}
		h.clock.Add(time.Hour)
		if err := send(10, "192.0.2.1"); err != nil {
			t.Errorf("in the next hour: %v", err)
		}
		list, _, err := h.survey.Responses().List(t.Context(), "", survey.ResponseQuery{SurveyID: 4523})
		if err != nil || len(list) != 7 {
			t.Errorf("%d are stored: %v", len(list), err)
		}
	})
}
