package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
)

func TestErrorsSayWhatAndWhere(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"storage: visit: 2 of the rows have a newer version":                          &driver.StaleError{Table: "visit", Rows: []int{0, 3}},
		"storage: visit.note: text holds a NUL character":                             &driver.ValueError{Table: "visit", Column: "note", Problem: "text holds a NUL character"},
		"storage: visit: row of 9000 bytes exceeds 8192; keep large inputs in a blob": &driver.RowSizeError{Table: "visit", Size: 9000, Limit: 8192},
	} {
		if got := err.Error(); got != want {
			t.Errorf("message is %q, want %q", got, want)
		}
	}
}

func TestAStaleErrorIsErrStale(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("settle: %w", &driver.StaleError{Table: "visit"})
	if !errors.Is(err, driver.ErrStale) || errors.Is(err, driver.ErrNotFound) {
		t.Errorf("%v is not an ErrStale alone", err)
	}
}

func TestARowOverItsLimitIsRefused(t *testing.T) {
	t.Parallel()
	table := visits().Limit(8192)
	inTx(t, func(tx driver.Tx) error {
		for size, want := range map[int]bool{8192: true, 8193: false} {
			// beside the picture, the row has its one byte of key and "null" for meals
			r := booking("a", 1)
			r.Key, r.Picture = fmt.Sprint(size%10), make([]byte, size-len("2null"))
			_, err := table.Insert(t.Context(), tx, r)
			if refused := (*driver.RowSizeError)(nil); errors.As(err, &refused) == want {
				t.Errorf("%d bytes: error is %v", size, err)
			}
		}
		return nil
	})
}

// Whoever settles rows does not spell out their fixed JSON only to measure it.
func TestAChangeIsMeasuredWithoutItsFixedJSON(t *testing.T) {
	t.Parallel()
	type parcel struct {
		driver.Record
		Label  []string `db:"label,fixed,json"`
		Inside []byte   `db:"inside"`
	}
	table := driver.Define[parcel]("parcel").Limit(8192)
	inTx(t, func(tx driver.Tx) error {
		r := &parcel{Record: driver.Record{Key: "a"}, Label: []string{strings.Repeat("l", 5000)}, Inside: []byte{}}
		if _, err := table.Insert(t.Context(), tx, r); err != nil {
			t.Fatal(err)
		}
		for size, want := range map[int]bool{8192: true, 8193: false} {
			r.Inside = make([]byte, size-len("a"))
			err := table.Save(t.Context(), tx, r)
			if refused := (*driver.RowSizeError)(nil); errors.As(err, &refused) == want {
				t.Errorf("%d bytes: error is %v", size, err)
			}
		}
		return nil
	})
}
