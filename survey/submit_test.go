package survey_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

func TestI23_AResponseEndsItsInstanceAndMakesOneEvent(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		h.clock.Add(time.Hour)
		got, err := h.survey.Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(complains), AgentID: "agent-7", CompletedOn: start.Add(time.Minute)})
		h.same("receipt", survey.Receipt{PublicID: "id-one", CompletedOn: start.Add(time.Minute)}, got)
		h.same("error", error(nil), err)
		r := h.row(token)
		h.same("status", survey.StatusCompleted, r.Status)
		h.same("moments", []time.Time{{}, {}, start.Add(time.Minute), start.Add(time.Hour), start.Add(time.Hour), start.Add(time.Hour)},
			[]time.Time{r.DueOn, r.NextSendOn, r.CompletedOn, r.EndedOn, r.StoppedOn, r.OpenedOn})
		h.same("responses, answers, events", [3]int{1, 3, 1}, h.counts())
		stored, err := h.survey.Responses().Get(t.Context(), "", "id-one")
		h.same("error", error(nil), err)
		h.same("response", survey.StoredResponse{
			PublicID: "id-one", SurveyID: 4523, SurveyVersion: 1, TriggerID: "csi-gr-trigger", CustomerRef: "cust-123", AgentID: "agent-7",
			CompletedOn: start.Add(time.Minute), SubmittedOn: start.Add(time.Hour),
			Answers: json.RawMessage(`{"complaint":"It was late.","has-a-complaint":"yes","rate":3}`),
		}, stored)
		h.clock.Add(60 * oneDay)
		h.drain()
		h.same("sends", 0, len(h.sent()))
	})
}

func TestI23_WhatIsRolledBackLeavesNothing(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		no := errors.New("no")
		err := h.store.InTx(t.Context(), func(tx storage.Tx) error {
			_, err := h.survey.WithTx(tx).Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(content)})
			return errors.Join(err, no)
		})
		h.same("rolled back", true, errors.Is(err, no))
		h.same("responses, answers, events", [3]int{}, h.counts())
		h.same("status", survey.StatusSent, h.row(token).Status)
		h.tx(func(tx storage.Tx) error {
			_, err := h.survey.WithTx(tx).Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(content)})
			return err
		})
		h.same("responses, answers, events", [3]int{1, 2, 1}, h.counts())
	})
}

// Somebody holds the row all the time, writes it and gives it back, and browsers
// tell that they show it.
func TestI25_OfTwoHundredSubmitsOneWinsWhileASenderHoldsTheRow(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one", func(r *survey.InstanceRow) { r.DueOn = start })
		var held []*survey.InstanceRow
		h.tx(func(tx storage.Tx) (err error) {
			held, err = instanceTable.Claim(t.Context(), tx, driver.Claim{
				Statuses: []string{survey.StatusSent}, Kinds: []string{"memory:default"}, Lanes: []driver.LaneClaim{{Lane: 0, Limit: 1}},
				Now: start, LeaseUntil: start.Add(time.Hour), Token: "sender",
			})
			return err
		})
		h.same("claimed", 1, len(held))
		const all = 200
		receipts, errs := make([]survey.Receipt, all), make([]error, all)
		var calls sync.WaitGroup
		for i := range all {
			calls.Go(func() {
				if i%10 == 0 {
					if err := h.survey.Opened(t.Context(), token); err != nil {
						t.Error(err)
					}
				}
				answers := fmt.Sprintf(`{"rate": %d, "has-a-complaint": "yes", "complaint": "number %d"}`, 1+i%10, i)
				receipts[i], errs[i] = h.survey.Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(answers)})
			})
		}
		calls.Go(func() { h.hold(token) })
		calls.Wait()
		won := 0
		for i, err := range errs {
			switch {
			case err == nil && !receipts[i].Repeated:
				won++
			case !errors.Is(err, survey.ErrAnswered):
				t.Errorf("submit %d: %+v, %v", i, receipts[i], err)
			}
		}
		h.same("winners", 1, won)
		h.same("responses, answers, events", [3]int{1, 3, 1}, h.counts())
		r := h.row(token)
		h.same("status", survey.StatusCompleted, r.Status)
		h.same("due", time.Time{}, r.DueOn)
		err := h.store.InTx(t.Context(), func(tx storage.Tx) error { return instanceTable.Save(t.Context(), tx, held...) })
		h.same("the sender's claim is stale", true, errors.Is(err, storage.ErrStale))
	})
}

// hold writes the row as a sender does, until the instance is completed.
func (h *host) hold(token string) {
	for r := h.row(token); r.Status != survey.StatusCompleted; r = h.row(token) {
		err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
			r.Calls++
			return instanceTable.Save(h.t.Context(), tx, r)
		})
		if err != nil && !errors.Is(err, storage.ErrStale) {
			h.t.Error(err)
			return
		}
	}
}

func TestTheSameSubmissionGetsTheFirstReceipt(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		submit := func(answers, key string) (survey.Receipt, error) {
			h.clock.Add(time.Minute)
			return h.survey.Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(answers), IdempotencyKey: key})
		}
		first, err := submit(complains, "key-1")
		h.same("error", error(nil), err)
		first.Repeated = true
		for _, again := range [][2]string{
			{complains, "key-1"},
			{complains, ""},
			{complains, "key-2"},
			{`{"complaint":"It was late.","has-a-complaint":"yes","rate":"3.0"}`, ""},
			{content, "key-1"},
			{`not even JSON`, "key-1"},
		} {
			got, err := submit(again[0], again[1])
			h.same("error", error(nil), err)
			h.same("receipt", first, got)
		}
		for _, other := range [][2]string{{content, ""}, {content, "key-2"}, {`{}`, ""}, {`not even JSON`, ""}} {
			got, err := submit(other[0], other[1])
			h.same("answered", true, errors.Is(err, survey.ErrAnswered))
			h.same("receipt", survey.Receipt{}, got)
		}
		h.same("responses, answers, events", [3]int{1, 3, 1}, h.counts())
	})
}

func TestAnswersThatDoNotFitChangeNothing(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		token := h.invite("one")
		before := h.row(token)
		for _, r := range []survey.Response{
			{Answers: json.RawMessage(`{"rate": 11, "colour": "red"}`)},
			{Answers: json.RawMessage(content), AgentID: "two\nlines"},
			{Answers: json.RawMessage(content), IdempotencyKey: string(make([]byte, 201))},
		} {
			_, err := h.survey.Submit(t.Context(), token, r)
			if faults := (*form.AnswersError)(nil); !errors.As(err, &faults) {
				t.Error(err)
			}
		}
		h.same("instance", before, h.row(token))
		h.same("responses, answers, events", [3]int{}, h.counts())
	})
}

func TestALinkThatDoesNotLeadToASurveySaysNothing(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		h.clock.Add(oneDay)
		tokens := map[string]string{
			"unknown": "unknown", "empty": "", "malformed": "\x00\xff' OR 1=1",
			"skipped":          h.invite("skipped", func(r *survey.InstanceRow) { r.Status, r.DueOn = survey.StatusSkipped, time.Time{} }),
			"deleted":          h.invite("deleted", func(r *survey.InstanceRow) { r.DeletedOn = start }),
			"late and deleted": h.invite("late", func(r *survey.InstanceRow) { r.ExpiresOn, r.DeletedOn = start.Add(oneDay), start }),
		}
		for name, token := range tokens {
			_, err := h.survey.Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(content)})
			h.same(name+" submitted", true, err == survey.ErrNoSurvey)
			_, err = h.survey.Form(t.Context(), token)
			h.same(name+" asked for", true, err == survey.ErrNoSurvey)
			h.same(name+" opened", true, h.survey.Opened(t.Context(), token) == survey.ErrNoSurvey)
		}
		h.same("responses, answers, events", [3]int{}, h.counts())
		// Neither its public id nor its hash opens a link.
		token := h.invite("one")
		for _, wrong := range []string{"id-one", survey.LinkHash(token)} {
			_, err := h.survey.Form(t.Context(), wrong)
			h.same("not a token", true, errors.Is(err, survey.ErrNoSurvey))
		}
	})
}

// Whoever holds a link learns that its time is over, whether or not a poller has come by
// since; and it takes nothing.
func TestALinkWhoseTimeIsOverSaysSo(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		h.clock.Add(oneDay)
		for name, token := range map[string]string{
			"swept": h.invite("swept", func(r *survey.InstanceRow) { r.Status, r.DueOn = survey.StatusExpired, time.Time{} }),
			"late":  h.invite("late", func(r *survey.InstanceRow) { r.ExpiresOn = start.Add(oneDay) }),
		} {
			form, err := h.survey.Form(t.Context(), token)
			if err != nil || form.State != survey.FormExpired || form.Locale != "ar" || len(form.Definition.Questions) == 0 {
				t.Errorf("%s: %+v, %v", name, form.State, err)
			}
			_, err = h.survey.Submit(t.Context(), token, survey.Response{Answers: json.RawMessage(content)})
			h.same(name+" submitted", true, errors.Is(err, survey.ErrExpired) && errors.Is(err, survey.ErrNoSurvey))
			h.same(name+" opened", true, errors.Is(h.survey.Opened(t.Context(), token), survey.ErrExpired))
		}
		h.same("responses, answers, events", [3]int{}, h.counts())
		_, err := h.survey.Complete(t.Context(), "south", "id-swept", survey.Response{Answers: json.RawMessage(content)})
		h.same("another tenant's", false, errors.Is(err, survey.ErrExpired))
	})
}

func TestAHostCompletesAnInstanceWhoseFormIsElsewhere(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		h.invite("one", func(r *survey.InstanceRow) { r.Status, r.LastSentOn = survey.StatusPending, time.Time{} })
		r := survey.Response{Answers: json.RawMessage(content)}
		_, err := h.survey.Complete(t.Context(), "south", "id-one", r)
		h.same("another tenant's", true, errors.Is(err, survey.ErrNoSurvey))
		_, err = h.survey.Complete(t.Context(), "\x00any", "id-one", r)
		h.same("no tenant's", true, err != nil)
		_, err = h.survey.Complete(t.Context(), "", "id-two", r)
		h.same("nobody's", true, errors.Is(err, survey.ErrNoSurvey))
		got, err := h.survey.Complete(t.Context(), "", "id-one", r)
		h.same("error", error(nil), err)
		h.same("receipt", survey.Receipt{PublicID: "id-one", CompletedOn: start}, got)
		h.same("nobody has opened it", time.Time{}, h.row("one").OpenedOn)
		h.same("and by its link", survey.Receipt{PublicID: "id-one", CompletedOn: start, Repeated: true}, h.submit("one", content))
	})
}

func TestAFormOfTheFutureIsCompletedNow(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		got, err := h.survey.Submit(t.Context(), h.invite("one"), survey.Response{Answers: json.RawMessage(content), CompletedOn: start.Add(oneDay)})
		h.same("error", error(nil), err)
		h.same("completed", start, got.CompletedOn)
	})
}

// PostgreSQL has no year 0, and who has a link may write any.
func TestAFormBeforeAllYearsIsCompletedNow(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		got, err := h.survey.Submit(t.Context(), h.invite("one"), survey.Response{Answers: json.RawMessage(content), CompletedOn: time.Date(0, 6, 1, 0, 0, 0, 0, time.UTC)})
		h.same("error", error(nil), err)
		h.same("completed", start, got.CompletedOn)
	})
}

func TestI23_ASubmitThatFailsAnywhereIsAllOrNothingAndMayBeRepeated(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		r := survey.Response{Answers: json.RawMessage(content)}
		for at, verbs := int64(0), int64(1); at <= verbs; at++ { // 0: the reply to the commit is lost
			token := h.invite(fmt.Sprint(at))
			store := newFaulty(h.store, at)
			store.commit = at == 0
			s := survey.New(store.Spy, nil, &survey.Options{ExpectedSubscribers: []string{"bi"}})
			before := h.counts()
			_, err := s.Submit(t.Context(), token, r)
			want := before
			switch {
			case at == 0:
				h.same("unknown", true, errors.Is(err, storage.ErrOutcomeUnknown))
				want = [3]int{before[0] + 1, before[1] + 2, before[2] + 1}
				verbs = store.verbs.Load()
			case !errors.Is(err, errCrash):
				t.Fatalf("verb %d: %v", at, err)
			}
			h.same("responses, answers, events", want, h.counts())
			if got := h.row(token).Status == survey.StatusCompleted; got != (at == 0) {
				t.Errorf("verb %d: completed: %v", at, got)
			}
			got, err := s.Submit(t.Context(), token, r)
			h.same("error", error(nil), err)
			h.same("receipt", survey.Receipt{PublicID: "id-" + token, CompletedOn: start, Repeated: at == 0}, got)
			h.same("responses, answers, events", [3]int{before[0] + 1, before[1] + 2, before[2] + 1}, h.counts())
			h.same("event", "Pending: bi Pending 0", h.event("id-"+token))
		}
	})
}

var errCrash = errors.New("the process died here")

// faulty is a store that counts the verbs of transactions and views, each of which is a
// statement, and dies at one of them.
type faulty struct {
	*storetest.Spy
	verbs  atomic.Int64
	crash  int64 // the verb that fails, from 1; zero: none
	commit bool  // the reply to the first COMMIT is lost
}

func newFaulty(store storage.Store, crash int64) *faulty {
	f := &faulty{crash: crash}
	f.Spy = &storetest.Spy{Store: store, Hook: f.hook}
	return f
}

func (f *faulty) hook(c storetest.Call) error {
	switch {
	case c.Verb == storetest.Committed && f.commit:
		f.commit = false
		return storage.ErrOutcomeUnknown
	case c.Verb != storetest.Next && c.Table != "" && f.verbs.Add(1) == f.crash:
		return errCrash
	}
	return nil
}
