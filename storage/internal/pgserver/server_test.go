package pgserver

import (
	"errors"
	"testing"
)

func TestServersThatCannotHoldTheContractAreRefused(t *testing.T) {
	t.Parallel()
	good := facts{version: 150004, encoding: "UTF8"}
	for name, c := range map[string]struct {
		change func(*facts)
		fine   bool
	}{
		"as is":     {func(*facts) {}, true},
		"oldest":    {func(f *facts) { f.version = 140000 }, true},
		"too old":   {func(f *facts) { f.version = 120022 }, false},
		"a replica": {func(f *facts) { f.standby, f.readOnly = true, true }, false},
		"read-only": {func(f *facts) { f.readOnly = true }, false},
		"not UTF-8": {func(f *facts) { f.encoding = "SQL_ASCII" }, false},
	} {
		f := good
		c.change(&f)
		err := f.check()
		var refused *ServerError
		if c.fine && err != nil || !c.fine && !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
