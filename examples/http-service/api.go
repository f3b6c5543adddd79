package main

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/postgres"
)

// api answers HTTP.
type api struct {
	db        *sql.DB
	store     *postgres.Store
	reminders *automation.Scheduler
	token     string
}

func (a api) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /bookings/{id}", a.put)
	mux.HandleFunc("DELETE /bookings/{id}", a.cancel)
	mux.HandleFunc("GET /bookings/{id}/reminders", a.explain)
	return http.MaxBytesHandler(a.authorised(mux), 64<<10)
}

// authorised lets callers in that show the token; without a token of its own it refuses all.
func (a api) authorised(next http.Handler) http.Handler {
	want := []byte("Bearer " + a.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.token == "" || subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// put makes or changes a booking. A repeat changes nothing.
func (a api) put(w http.ResponseWriter, r *http.Request) {
	var b booking
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.ID = r.PathValue("id")
	if err := b.check(); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	err := a.store.InHostTx(r.Context(), func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error {
		if err := b.save(ctx, tx); err != nil {
			return err
		}
		if err := a.tell(ctx, bound, saved, b); err != nil {
			return err
		}
		return checkSeats(ctx, tx)
	})
	answer(w, b, err)
}

// cancel takes a booking away, and its reminder with it.
func (a api) cancel(w http.ResponseWriter, r *http.Request) {
	var b booking
	err := a.store.InHostTx(r.Context(), func(ctx context.Context, tx *sql.Tx, bound storage.Tx) (err error) {
		if b, err = load(ctx, tx, r.PathValue("id")); err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, `DELETE FROM booking WHERE id = $1`, b.ID); err != nil {
			return err
		}
		b.Version++
		return a.tell(ctx, bound, cancelled, b)
	})
	answer(w, b, err)
}

// tell is the one call that the service makes: inside its own transaction.
func (a api) tell(ctx context.Context, bound storage.Tx, what string, b booking) error {
	_, err := a.reminders.WithTx(bound).HandleEvent(ctx, automation.Event{
		Type: what, Source: automation.Source{Type: "booking", ID: b.ID}, Version: b.Version, Stream: "booking", Data: b,
	})
	return err
}

// explain shows what became of a booking's reminder, for the help desk.
func (a api) explain(w http.ResponseWriter, r *http.Request) {
	b, err := load(r.Context(), a.db, r.PathValue("id"))
	if err != nil {
		answer(w, b, err)
		return
	}
	key, err := keys.Instant{
		Setting: "booking", SourceType: "booking", Source: b.ID, TriggerKey: "default", Start: b.StartsOn, Before: remindBefore,
	}.Key()
	if err != nil {
		answer(w, b, err)
		return
	}
	story, err := a.reminders.Explain(r.Context(), "", key)
	if err != nil {
		answer(w, b, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(story.String() + "\n"))
}

func answer(w http.ResponseWriter, b booking, err error) {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		http.Error(w, "there is no such booking", http.StatusNotFound)
	case errors.Is(err, errFull):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, "try again", http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(b)
	}
}
