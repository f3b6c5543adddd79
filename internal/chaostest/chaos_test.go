package chaostest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

func TestMain(m *testing.M) {
	Work(drivers...)
	pgtest.Main(m)
}

// drivers are those of the main module; a build without cgo has its own SQLite. The
// stories are played through pgx in storage/pgx.
var drivers = []Driver{
	{
		Name: "sqlite", SQLite: true, Again: !cgo,
		DSN: func(t testing.TB) string { return filepath.Join(t.TempDir(), "belfry.db") },
		Open: func(ctx context.Context, dsn string, clk clock.Clock) (*Host, error) {
			s, err := sqlite.Open(ctx, dsn, &sqlite.Options{Clock: clk})
			if err != nil {
				return nil, err
			}
			return SQL(s), nil
		},
	},
	{
		Name: "postgres", DSN: pgtest.DSN,
		Open: func(ctx context.Context, dsn string, clk clock.Clock) (*Host, error) {
			s, err := postgres.Open(ctx, dsn, &postgres.Options{Clock: clk})
			if err != nil {
				return nil, err
			}
			return SQL(s), nil
		},
	},
}

// I-8, I-9, I-12, I-13: see [Workers].
func TestKilledWorkersLoseNothingAndDoubleNothing(t *testing.T) {
	t.Parallel()
	Each(t, testlevel.Check, Workers, drivers...)
}

// I-8 to I-13: see [Doubts].
func TestI12_WhatKilledSendersLeaveOpenIsListedInDoubtAndNothingElse(t *testing.T) {
	t.Parallel()
	Each(t, testlevel.Check, Doubts, drivers...)
}

// I-10 to I-13: see [Mails].
func TestI12_ResendAndPostmarkEndTheirDoubtsByThemselves(t *testing.T) {
	t.Parallel()
	Each(t, testlevel.Nightly, Mails, drivers...)
}

// I-8 to I-13: see [Surveys].
func TestI12_KilledWorkersSendEachLinkAndItsReminderOnce(t *testing.T) {
	t.Parallel()
	Each(t, testlevel.Nightly, Surveys, drivers...)
}

// See [Erasures].
func TestKilledErasuresLeaveNothingAndTouchNobodyElse(t *testing.T) {
	t.Parallel()
	Each(t, testlevel.Nightly, Erasures, drivers...)
}

// I-8, I-9, I-13: see [Restarts].
func TestWorkersOutliveTheirDatabase(t *testing.T) {
	t.Parallel()
	Each(t, testlevel.Check, Restarts, drivers[1:]...)
}
