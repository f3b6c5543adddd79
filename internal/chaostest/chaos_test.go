package chaostest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
)

// TestMain is also the main function of the worker processes that the tests
// start: this binary, with a role in its environment.
func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		pgtest.Main(m)
		return
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// onEach runs a test on a file of SQLite and on a database of PostgreSQL, where
// the level of the run has them.
func onEach(t *testing.T, test func(t *testing.T, adapter, dsn string)) {
	testlevel.Need(t, testlevel.All)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite", filepath.Join(t.TempDir(), "belfry.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, "postgres", pgtest.DSN(t))
	})
}

// I-8, I-9, I-12, I-13: workers are killed at random moments, twenty times at
// least, while two thousand deliveries flow. Each arrives once, since this
// provider can tell what it has accepted; and no claim makes two calls.
//
//spec:a-051 f-050
func TestKilledWorkersLoseNothingAndDoubleNothing(t *testing.T) {
	t.Parallel()
	onEach(t, chaos)
}

// I-8 to I-13: workers of all passes are killed at random moments, some of them in
// the middle of calls, while reminders and a campaign flow through the gates and
// callbacks come in. The provider cannot be asked. Nothing is lost, no claim makes
// two calls, and in doubt is exactly what was being called and has no result.
func TestI12_WhatKilledSendersLeaveOpenIsListedInDoubtAndNothingElse(t *testing.T) {
	t.Parallel()
	onEach(t, posted)
}

// I-8, I-9, I-13, I-26: four tickers at once over due links, killed at random
// moments while customers answer. Each send is made once, since this provider can
// tell what it has accepted; no claim makes two calls; and no call begins for a
// link that has been answered.
//
//spec:t-034 t-073
func TestKilledTickersSendEachLinkOnce(t *testing.T) {
	t.Parallel()
	onEach(t, ticking)
}

// I-22: pollers of Belfry, processes of an old scheduler and one that moves the work
// between them are killed at random moments and started again. Each run is delivered
// by one side, once. Only what a killed sender without a transaction had in its hands,
// at most one run of each, is lost instead of doubled, and the guard names its sender.
func TestI22_KilledSchedulersDeliverEachRunByOneSide(t *testing.T) {
	t.Parallel()
	onEach(t, handover)
}
