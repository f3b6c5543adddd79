package pgtest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
)

// Addr is the host:port of a DSN of this package, for a proxy to forward to.
func Addr(t testing.TB, dsn string) string {
	t.Helper()
	u := parse(t, dsn)
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// Via is dsn with another host:port, that of a proxy.
func Via(t testing.TB, dsn, addr string) string {
	t.Helper()
	u := parse(t, dsn)
	u.Host = addr
	return u.String()
}

// With is dsn with one more connection parameter, such as binary_parameters.
func With(t testing.TB, dsn, name, value string) string {
	t.Helper()
	u := parse(t, dsn)
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

func parse(t testing.TB, dsn string) *url.URL {
	t.Helper()
	u, err := parseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// parseDSN reads a DSN in its URL form, the only one here. Its errors leave out
// what may be a password.
func parseDSN(dsn string) (*url.URL, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, errors.New("pgtest: the DSN is no URL of the form postgres://user@host:port/database")
	}
	if (u.Scheme != "postgres" && u.Scheme != "postgresql") || u.Host == "" {
		return nil, fmt.Errorf("pgtest: the DSN must have the form postgres://user@host:port/database, this has scheme %q and host %q", u.Scheme, u.Host)
	}
	return u, nil
}
