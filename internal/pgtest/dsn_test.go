package pgtest

import (
	"strings"
	"testing"
)

func TestDSNParts(t *testing.T) {
	t.Parallel()
	const dsn = "postgres://u:p%40ss@db.example:6000/bells?sslmode=disable"
	for _, c := range []struct{ what, got, want string }{
		{"Addr", Addr(t, dsn), "db.example:6000"},
		{"Addr without a port", Addr(t, "postgresql://u@db.example/bells"), "db.example:5432"},
		{"Via", Via(t, dsn, "127.0.0.1:1"), "postgres://u:p%40ss@127.0.0.1:1/bells?sslmode=disable"},
		{"With", With(t, dsn, "binary_parameters", "yes"), "postgres://u:p%40ss@db.example:6000/bells?binary_parameters=yes&sslmode=disable"},
		{"inDatabase", inDatabase(parse(t, dsn), "other").String(), "postgres://u:p%40ss@db.example:6000/other?sslmode=disable"},
	} {
		if c.got != c.want {
			t.Errorf("%s = %s, want %s", c.what, c.got, c.want)
		}
	}
}

func TestABadDSNIsRefusedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"", "host=db password=secret", "mysql://u:secret@db/x", "postgres://u:secret@db:port/x"} {
		_, err := parseDSN(dsn)
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "postgres://") {
			t.Errorf("parseDSN(%q) = %v", dsn, err)
		}
	}
}
