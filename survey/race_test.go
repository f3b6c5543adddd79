package survey_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// busyStore lets others write an instance between every read and write of it, so
// many times.
func (h *host) busyStore(times int, write func(r *survey.Instance)) *storetest.Spy {
	return &storetest.Spy{Store: h.store, Hook: func(c storetest.Call) error {
		if c.Verb != storetest.Update || c.Table != "survey_instance" || times == 0 {
			return nil
		}
		times--
		mine := c.Rows[0].(*survey.Instance)
		stored, err := instanceTable.Get(h.t.Context(), c.Tx, mine.Scope, mine.Key)
		if err != nil {
			return err
		}
		write(stored)
		return instanceTable.Save(h.t.Context(), c.Tx, stored)
	}}
}

// busy is a service on the host's store while others write.
func (h *host) busy(times int, write func(r *survey.Instance)) *survey.Service {
	return survey.New(h.busyStore(times, write), nil)
}

func TestI25_ASubmitIsRepeatedWhileClaimsAndBeaconsMoveTheVersion(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		s := h.busy(5, func(r *survey.Instance) { r.Calls++ })
		got, err := s.Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(content)})
		h.same("error", error(nil), err)
		h.same("receipt", survey.Receipt{PublicID: "id-one", CompletedOn: start}, got)
		h.same("what the others wrote", 5, h.row(token).Calls)
		h.same("responses, answers, events", [3]int{1, 2, 1}, h.counts())
	})
}

func TestI4_ASubmitThatLosesToTheExpiryLeavesNothing(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		store := h.busyStore(1, func(r *survey.Instance) { r.Status = survey.StatusExpired })
		err := store.InTx(t.Context(), func(tx storage.Tx) error { // of a host that commits whatever the answer
			_, err := survey.New(store, nil).WithTx(tx).Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(content)})
			h.same("submitted", true, errors.Is(err, survey.ErrNoSurvey))
			return nil
		})
		h.same("committed", error(nil), err)
		h.same("status", survey.StatusExpired, h.row(token).Status)
		h.same("responses, answers, events", [3]int{}, h.counts())
	})
}

func TestABeaconIsRepeatedAndGivesUpForTheEnd(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		h.same("opened", error(nil), h.busy(5, func(r *survey.Instance) { r.Calls++ }).Opened(t.Context(), token))
		h.same("status", survey.StatusOpened, h.row(token).Status)
		token = h.invite("two")
		h.same("opened", error(nil), h.busy(1, func(r *survey.Instance) { r.Status = survey.StatusCompleted }).Opened(t.Context(), token))
		h.same("status", survey.StatusCompleted, h.row(token).Status)
		token = h.invite("three")
		err := h.busy(1000, func(r *survey.Instance) { r.Calls++ }).Opened(t.Context(), token)
		h.same("it has an end", true, errors.Is(err, storage.ErrBusy))
	})
}

// However an instance came to be open again, its response stands.
func TestI25_TheUniqueKeyDecidesWhatTheInstanceDoesNot(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		h.submit(token, complains)
		r := h.row(token)
		h.tx(func(tx storage.Tx) error {
			r.Status = survey.StatusSent
			return instanceTable.Save(t.Context(), tx, r)
		})
		_, err := h.survey.Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(content)})
		h.same("answered", true, errors.Is(err, survey.ErrAnswered))
		h.same("repeated", true, h.submit(token, complains).Repeated)
		h.same("responses, answers, events", [3]int{1, 3, 1}, h.counts())
	})
}
