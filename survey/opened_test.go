package survey_test

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

//spec:t-047
func TestAnOpenedInstanceKeepsItsReminders(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		want := h.row(token)
		h.clock.Add(time.Hour)
		h.same("opened", error(nil), h.survey.Opened(t.Context(), token))
		want.Status, want.OpenedOn, want.Version = survey.StatusOpened, start.Add(time.Hour), 2
		h.same("instance", want, h.row(token))
		h.clock.Add(time.Hour)
		h.same("opened again", error(nil), h.survey.Opened(t.Context(), token))
		h.same("instance", want, h.row(token))
	})
}

func TestI4_ABeaconAfterTheResponseChangesNothing(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		h.submit(token, content)
		want := h.row(token)
		h.same("opened", error(nil), h.survey.Opened(t.Context(), token))
		h.same("instance", want, h.row(token))
	})
}

// A mail scanner fetches every link, however often.
func TestAskingForAFormChangesNothing(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		want := h.row(token)
		for range 3 {
			form, err := h.survey.Form(t.Context(), token)
			h.same("error", error(nil), err)
			h.same("questions", 3, len(form.Definition.Questions))
			form.Definition = nil
			h.same("form", survey.Form{PublicID: "id-one", SurveyID: 4523, Survey: "E2E CSI-GR", Version: 1, Locale: "ar", State: survey.FormOpen}, form)
		}
		h.same("instance", want, h.row(token))
		h.submit(token, content)
		form, err := h.survey.Form(t.Context(), token)
		h.same("error", error(nil), err)
		h.same("state", survey.FormAnswered, form.State)
	})
}

func TestAFormInAHostsTransactionSeesWhatItDid(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		h.tx(func(tx storage.Tx) error {
			bound := h.survey.WithTx(tx)
			if err := bound.Opened(t.Context(), token); err != nil {
				return err
			}
			_, err := bound.Form(t.Context(), token)
			return err
		})
		h.same("status", survey.StatusOpened, h.row(token).Status)
	})
}
