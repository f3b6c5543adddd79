package storage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage"
)

type other struct{ storage.Record }

type pointed struct{ *storage.Record }

// A field is found by its distance from the start of its row, so a row of
// another type must never be taken for one.
func TestFieldsRefuseWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	status := visits().Column("status")
	for want, call := range map[string]func(){
		"a *storage_test.other": func() { status.Field(&other{}) },
		"not of kind":           func() { status.Int(storage.FieldsOf(full())) },
		"by pointer":            func() { storage.Define[pointed]("pointed") },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q does not say %q", got, want)
				}
			}()
			call()
		}()
	}
}
