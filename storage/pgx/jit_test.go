package pgx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/traptest"
)

// A claim of three milliseconds was compiled for 119 to 165. The server here compiles
// what it can, and logs each plan.
func TestNoStatementIsCompiled(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	server := pgtest.New(t, &pgtest.Options{Settings: map[string]string{
		"jit": "on", "jit_above_cost": "0", "session_preload_libraries": "auto_explain",
		"auto_explain.log_min_duration": "0", "auto_explain.log_level": "log",
	}})
	s := opened(t, server.Database(t), nil)
	if !scan[bool](t, s, "SELECT pg_jit_available()") {
		testlevel.Lacks(t, "the server here cannot compile statements (Debian: postgresql-15 has LLVM)")
	}
	folder := scan[string](t, s, "SHOW data_directory")
	logged := func(what string) int {
		log, err := os.ReadFile(filepath.Join(filepath.Dir(folder), "log"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(log), what)
	}
	plans, compiled := logged("Query Text:"), logged("JIT:")
	for turn := range 7 { // from the sixth on, a prepared statement may have one plan for all
		if err := traptest.Insert(t.Context(), s, traptest.DueTasks(100*(turn+1))...); err != nil {
			t.Fatal(err)
		}
		held, err := traptest.Claimed(t.Context(), s, traptest.ClaimOf("t", 100))
		if err != nil || len(held) != 100 {
			t.Fatal(len(held), err)
		}
		err = s.InTx(t.Context(), func(tx driver.Tx) error {
			_, err := traptest.Tasks.Extend(t.Context(), tx, traptest.Noon.Add(time.Hour), held...)
			return err
		})
		if err == nil {
			err = traptest.Settle(t.Context(), s, held, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := logged("JIT:") - compiled; n > 0 {
		t.Errorf("%d plans were compiled", n)
	}
	if n := logged("Query Text:") - plans; n < 4*7 {
		t.Errorf("the log has %d plans; this guard guards nothing", n)
	}
}
