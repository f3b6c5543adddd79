package pgx

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/internal/chaostest"
	"github.com/belfry-go/belfry/internal/pgtest"
)

var errClosed = pgx.ErrTxClosed

func TestMain(m *testing.M) {
	chaostest.Work(chaosDrivers...)
	goleak.VerifyTestMain(pgtest.Wrap(m))
}
