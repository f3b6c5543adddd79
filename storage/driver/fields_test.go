package driver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
)

type other struct{ driver.Record }

type pointed struct{ *driver.Record }

// A field is found by its distance from the start of its row, so a row of
// another type must never be taken for one.
func TestFieldsRefuseWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	status := visits().Column("status")
	for want, call := range map[string]func(){
		"a *driver_test.other": func() { status.Field(&other{}) },
		"not of kind":          func() { status.Int(driver.FieldsOf(full())) },
		"by pointer":           func() { driver.Define[pointed]("pointed") },
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
