package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

var errCut = errors.New("the connection is gone")

// cutStore fails at one verb of its first transaction, before it is executed, or
// after the commit, whose reply is lost.
type cutStore struct {
	storage.Store
	at    int // 0: after the commit
	verbs int
	over  bool
}

func (s *cutStore) InTx(ctx context.Context, f func(storage.Tx) error) error {
	err := s.Store.InTx(ctx, func(tx storage.Tx) error { return f(&cutTx{tx, s}) })
	if err == nil && s.at == 0 && !s.over {
		s.over = true
		return storage.ErrOutcomeUnknown
	}
	return err
}

// verb counts a call, and says whether it fails.
func (s *cutStore) verb() error {
	s.verbs++
	if s.verbs == s.at && !s.over {
		s.over = true
		return errCut
	}
	return nil
}

type cutTx struct {
	storage.Tx
	store *cutStore
}

func (t *cutTx) Store() storage.Store { return t.store }

func (t *cutTx) Select(ctx context.Context, s *driver.Schema, reach driver.Reach, q driver.Query) ([]driver.Row, error) {
	if err := t.store.verb(); err != nil {
		return nil, err
	}
	return t.Tx.Select(ctx, s, reach, q)
}

func (t *cutTx) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if err := t.store.verb(); err != nil {
		return nil, err
	}
	return t.Tx.Insert(ctx, s, rows)
}

func (t *cutTx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if err := t.store.verb(); err != nil {
		return nil, err
	}
	return t.Tx.Update(ctx, s, rows)
}

func TestI23_ASubmitThatFailsAnywhereIsAllOrNothingAndMayBeRepeated(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		r := survey.Response{Answers: json.RawMessage(content)}
		for at, verbs := 0, 1; at <= verbs; at++ {
			token := h.invite(fmt.Sprint(at))
			store := &cutStore{Store: h.store, at: at}
			s := survey.New(store, &survey.Options{ExpectedSubscribers: []string{"bi"}})
			before := h.counts()
			_, err := s.Submit(t.Context(), token, r)
			want := before
			switch {
			case at == 0:
				h.same("unknown", true, errors.Is(err, storage.ErrOutcomeUnknown))
				want = [3]int{before[0] + 1, before[1] + 2, before[2] + 1}
				verbs = store.verbs
			case !errors.Is(err, errCut):
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
