package postgres

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Wrap(m)) }
