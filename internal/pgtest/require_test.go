package pgtest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// ending is a testing.TB that notes how a test ended.
type ending struct {
	testing.TB
	skipped, failed string
}

func (e *ending) Skip(args ...any) { e.skipped = fmt.Sprint(args...); runtime.Goexit() }

func (e *ending) Helper() {}
func (e *ending) Skipf(format string, args ...any) {
	e.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
func (e *ending) Fatalf(format string, args ...any) {
	e.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// A skip that nobody sees would leave half of the suite unrun in CI.
func TestAMissingProgramSkipsButFailsWhereNobodyLooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env   map[string]string
		fails bool
	}{
		{nil, false},
		{map[string]string{"CI": "false"}, false},
		{map[string]string{"CI": "true"}, true},
		{map[string]string{"BELFRY_REQUIRE_POSTGRES": "1"}, true},
	} {
		var out strings.Builder
		r := &requirement{getenv: func(name string) string { return c.env[name] }, out: &out}
		lack := func(why string) *ending {
			e := &ending{TB: t}
			var done sync.WaitGroup
			done.Go(func() { r.missing(e, errors.New(why)) })
			done.Wait()
			return e
		}
		first, second, other := lack("needs PostgreSQL"), lack("needs PostgreSQL"), lack("needs PgBouncer")
		for text, e := range map[string]*ending{"pgtest: needs PostgreSQL": first, "pgtest: needs PgBouncer": other} {
			if c.fails && e.failed != text || !c.fails && (e.skipped != text || e.failed != "") {
				t.Errorf("with %v: skipped %q, failed %q", c.env, e.skipped, e.failed)
			}
		}
		if second.skipped == "" || second.failed != "" {
			t.Errorf("with %v, the second time: skipped %q, failed %q", c.env, second.skipped, second.failed)
		}
		if n := strings.Count(out.String(), "needs PostgreSQL"); !c.fails && n != 1 {
			t.Errorf("with %v, it is said %d times: %s", c.env, n, out.String())
		}
	}
}
