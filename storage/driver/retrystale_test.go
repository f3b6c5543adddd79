package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
)

func TestAgainUntilNobodyComesBetween(t *testing.T) {
	t.Parallel()
	odd := errors.New("odd")
	for _, c := range []struct {
		stale int
		then  error
		want  error
	}{{0, nil, nil}, {3, nil, nil}, {3, odd, odd}, {99, nil, nil}, {100, nil, driver.ErrBusy}} {
		runs := 0
		err := driver.RetryStale("the row", func() error {
			if runs++; runs <= c.stale {
				return fmt.Errorf("wrapped: %w", driver.ErrStale)
			}
			return c.then
		})
		if !errors.Is(err, c.want) || runs != min(c.stale+1, 100) {
			t.Errorf("%d stale ones, then %v: %d runs, %v", c.stale, c.then, runs, err)
		}
		if errors.Is(err, driver.ErrBusy) && !strings.HasPrefix(err.Error(), "the row kept changing") {
			t.Error(err)
		}
	}
}
