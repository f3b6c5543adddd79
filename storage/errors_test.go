package storage_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/belfry-go/belfry/storage"
)

func TestErrorsSayWhatAndWhere(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"storage: visit: 2 of the rows have a newer version":                          &storage.StaleError{Table: "visit", Rows: []int{0, 3}},
		"storage: visit.note: text holds a NUL character":                             &storage.ValueError{Table: "visit", Column: "note", Problem: "text holds a NUL character"},
		"storage: visit: row of 9000 bytes exceeds 8192; keep large inputs in a blob": &storage.RowSizeError{Table: "visit", Size: 9000, Limit: 8192},
	} {
		if got := err.Error(); got != want {
			t.Errorf("message is %q, want %q", got, want)
		}
	}
}

func TestAStaleErrorIsErrStale(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("settle: %w", &storage.StaleError{Table: "visit"})
	if !errors.Is(err, storage.ErrStale) || errors.Is(err, storage.ErrNotFound) {
		t.Errorf("%v is not an ErrStale alone", err)
	}
}

func TestARowOverItsLimitIsRefused(t *testing.T) {
	t.Parallel()
	table := visits().Limit(8192)
	inTx(t, func(tx storage.Tx) error {
		for size, want := range map[int]bool{8192: true, 8193: false} {
			// beside the picture, the row has its one byte of key and "null" for meals
			r := booking("a", 1)
			r.Key, r.Picture = fmt.Sprint(size%10), make([]byte, size-len("2null"))
			_, err := table.Insert(t.Context(), tx, r)
			if refused := (*storage.RowSizeError)(nil); errors.As(err, &refused) == want {
				t.Errorf("%d bytes: error is %v", size, err)
			}
		}
		return nil
	})
}
