package pgtest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldest is the first PostgreSQL major version that the project supports.
const oldest = 15

// findPostgres returns the directory of the server programs: the first of PATH,
// Debian's version directories (newest first) and pg_config that holds them in
// a version that is not too old.
//
// BELFRY_POSTGRES_BIN names the directory instead, whatever the version.
func findPostgres() (string, error) {
	if dir := os.Getenv("BELFRY_POSTGRES_BIN"); dir != "" {
		if _, err := serverVersion(dir); err != nil {
			return "", fmt.Errorf("BELFRY_POSTGRES_BIN: %w", err)
		}
		return dir, nil
	}
	var seen []string
	for _, dir := range postgresDirs() {
		version, err := serverVersion(dir)
		if err != nil {
			continue
		}
		if version >= oldest {
			return dir, nil
		}
		seen = append(seen, fmt.Sprintf("version %d in %s", version, dir))
	}
	found := "none was found"
	if len(seen) > 0 {
		found = "too old: " + strings.Join(seen, ", ")
	}
	return "", fmt.Errorf("needs PostgreSQL %d or later (postgres and initdb), %s; "+
		"install it with scripts/setup-test.sh or `apt-get install postgresql`, "+
		"put its bin directory on PATH, or set BELFRY_POSTGRES_DSN", oldest, found)
}

func postgresDirs() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well-formed
	dirs = append(dirs, newestFirst(debian)...)
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	return dirs
}

// newestFirst orders directories of the form .../<version>/bin.
func newestFirst(dirs []string) []string {
	version := func(dir string) float64 {
		v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(dir)), 64) // not a number: last
		return v
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	return dirs
}

var majorVersion = regexp.MustCompile(`\) (\d+)`) // postgres (PostgreSQL) 15.18 (Debian 15.18-0)

// serverVersion is the major version of the server programs in dir.
func serverVersion(dir string) (int, error) {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return 0, err
	}
	out, err := exec.Command(filepath.Join(dir, "postgres"), "-V").Output()
	if err != nil {
		return 0, err
	}
	match := majorVersion.FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("pgtest: no version in %q", out)
	}
	return strconv.Atoi(string(match[1]))
}

// findBouncer returns the path of pgbouncer, which Debian keeps off the PATH of
// ordinary users.
func findBouncer() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("needs PgBouncer, which was not found; " +
		"install it with scripts/setup-test.sh or `apt-get install pgbouncer`")
}
