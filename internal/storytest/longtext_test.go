package storytest

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// random is a text of n bytes that no index can compress.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return base64.StdEncoding.EncodeToString(b)[:n]
}

// What one database can index all of them can, and what one cannot is refused by all, before
// anything is written.
func TestTextsAreBoundedAlikeOnEveryDatabase(t *testing.T) {
	each(t, func(w *world) {
		p := w.program(w.store)
		w.visited(p.surveys, 0)
		ensure := func(scope storage.Scope, person string) error {
			c := expiring("sam", 3)
			c.Scope, c.Person = scope, person
			_, err := p.reminders.Ensure(w.Context(), c)
			return err
		}
		notify := func(scope storage.Scope, ref string) error {
			job := invoice("sam")
			job.Scope, job.Recipients[0].Ref = scope, ref
			_, err := p.messages.Notify(w.Context(), job)
			return err
		}
		ingest := func(scope storage.Scope) error {
			b := visit("sam")
			b.Scope = scope
			_, err := p.surveys.Ingest(w.Context(), b)
			return err
		}
		tenant := storage.Scope(random(200))
		for name, err := range map[string]error{
			"Ensure, scope":  ensure(tenant+"x", ""),
			"Ensure, person": ensure(tenant, random(201)),
			"Notify, scope":  notify(storage.Scope(random(3000)), "sam"),
			"Notify, ref":    notify(tenant, random(513)),
			"Ingest, scope":  ingest(tenant + "x"),
			"Health, scope":  second(p.messages.Health(w.Context(), storage.Within(tenant+"x"))),
		} {
			if err == nil || errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "more than") && !strings.Contains(err.Error(), "too long") {
				w.Errorf("%s: %v", name, err)
			}
		}
		for name, err := range map[string]error{
			"Ensure": ensure(tenant, random(200)), "Notify": notify(tenant, random(512)), "Ingest": ingest(tenant),
		} {
			if err != nil {
				w.Errorf("%s, of the longest: %v", name, err)
			}
		}
		w.clk.Set(time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC))
		w.drain(p.services()...)
		w.wantSent("2026-03-03 to sam@example.com", "Invoice 114 to sam@example.com")
	})
}

func second[T any](_ T, err error) error { return err }
