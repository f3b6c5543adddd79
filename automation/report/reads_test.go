package report_test

import (
	"context"
	"testing"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
)

// Whoever only looks waits for no writer, not even on a database that has one at a
// time.
func TestWhoeverOnlyLooksWaitsForNoWriter(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		r, page := w.reports, storage.Page{}
		runs, _, err := r.Runs(w.ctx, "", "g-1", page)
		if err != nil || len(runs) != 1 {
			w.Fatal(runs, err)
		}
		storetest.BesideAWriter(w.T, w.store, map[string]func(context.Context) error{
			"Subscription":  func(ctx context.Context) error { _, err := r.Subscription(ctx, "", "g-1"); return err },
			"Subscriptions": func(ctx context.Context) error { _, _, err := r.Subscriptions(ctx, "", page); return err },
			"Run":           func(ctx context.Context) error { _, err := r.Run(ctx, "", runs[0].Key); return err },
			"Runs":          func(ctx context.Context) error { _, _, err := r.Runs(ctx, "", "g-1", page); return err },
			"RecentRuns":    func(ctx context.Context) error { _, _, err := r.RecentRuns(ctx, "", page); return err },
			"FailedRuns":    func(ctx context.Context) error { _, _, err := r.FailedRuns(ctx, "", page); return err },
			"Preview":       func(ctx context.Context) error { _, err := r.Preview(ctx, weekly(nil), 3); return err },
		})
	})
}
