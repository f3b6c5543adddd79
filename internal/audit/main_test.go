package audit_test

import (
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
