package belfry_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/internal/pgtest"
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		code := pgtest.Wrap(m).Run()
		if code == 0 {
			if err := goleak.Find(); err != nil {
				println(err.Error())
				code = 1
			}
		}
		return code
	}())
}
