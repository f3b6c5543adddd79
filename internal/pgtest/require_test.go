package pgtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

// ending is a testing.TB that notes how a test ended.
type ending struct {
	testing.TB
	skipped, failed string
}

func (e *ending) Helper()                           {}
func (e *ending) Skipf(format string, args ...any)  { e.skipped = fmt.Sprintf(format, args...) }
func (e *ending) Fatalf(format string, args ...any) { e.failed = fmt.Sprintf(format, args...) }

// A skip that nobody sees would leave half of the suite unrun in CI.
func TestAMissingProgramSkipsButFailsWhereNobodyLooks(t *testing.T) {
	t.Parallel()
	why := errors.New("needs PostgreSQL")
	for _, c := range []struct {
		env   map[string]string
		fails bool
	}{
		{nil, false},
		{map[string]string{"CI": "false"}, false},
		{map[string]string{"CI": "true"}, true},
		{map[string]string{"BELFRY_REQUIRE_POSTGRES": "1"}, true},
	} {
		e := &ending{TB: t}
		var done sync.WaitGroup
		done.Go(func() { missing(e, why, func(name string) string { return c.env[name] }) })
		done.Wait()
		text := "pgtest: needs PostgreSQL"
		if c.fails && e.failed != text || !c.fails && (e.skipped != text || e.failed != "") {
			t.Errorf("with %v: skipped %q, failed %q", c.env, e.skipped, e.failed)
		}
	}
}
