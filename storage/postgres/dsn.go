package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/lib/pq"
)

// DSNError refuses a setting of a connection string, of the environment or of
// a service file. It never holds the connection string, which has a password.
type DSNError struct {
	Setting string // its name; empty: the string as a whole
	Problem string // what is wrong, and what to write instead
}

func (e *DSNError) Error() string {
	if e.Setting == "" {
		return "postgres: connection string: " + e.Problem
	}
	return "postgres: connection string: " + e.Setting + ": " + e.Problem
}

// defaults are added to a connection string that does not have them, unless the
// environment variable is set.
var defaults = []struct{ name, value, env string }{
	{"binary_parameters", "yes", ""},
	{"target_session_attrs", "read-write", "PGTARGETSESSIONATTRS"},
	{"connect_timeout", "10", "PGCONNECT_TIMEOUT"},
	{"application_name", "belfry", "PGAPPNAME"},
}

// parse completes dsn, a URL or key=value pairs, with the defaults and refuses
// what would not be safe. It returns the completed string too.
func parse(dsn string) (pq.Config, string, error) {
	full, err := complete(dsn)
	if err != nil {
		return pq.Config{}, "", err
	}
	cfg, err := pq.NewConfig(full)
	if err != nil {
		return pq.Config{}, "", malformed(err)
	}
	return cfg, full, refuse(cfg)
}

func complete(dsn string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return completePairs(dsn), nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", malformed(err)
	}
	q := u.Query()
	for _, d := range defaults {
		if !q.Has(d.name) && os.Getenv(d.env) == "" {
			q.Set(d.name, d.value)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// completePairs puts the defaults in front: of a repeated key the last counts.
func completePairs(dsn string) string {
	var b strings.Builder
	for _, d := range defaults {
		if os.Getenv(d.env) == "" {
			fmt.Fprintf(&b, "%s=%s ", d.name, d.value)
		}
	}
	return b.String() + dsn
}

// malformed keeps what the driver says about a setting, and nothing of what
// could be a piece of a password.
func malformed(err error) error {
	text := strings.TrimPrefix(err.Error(), "pq: ")
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return &DSNError{Problem: "not a URL that can be parsed; escape special characters of the password"}
	}
	if strings.HasPrefix(text, "missing ") || strings.HasPrefix(text, "unterminated ") {
		return &DSNError{Problem: `not pairs of the form key=value; quote values with spaces like 'this'`}
	}
	return &DSNError{Problem: text}
}

// forbidden are the run-time settings that break a promise of this package,
// with the values that do not.
var forbidden = []struct{ name, allowed, problem string }{
	{"default_transaction_read_only", "off no false 0", "Belfry writes in every transaction; leave it out"},
	{"transaction_read_only", "off no false 0", "Belfry writes in every transaction; leave it out"},
	{"default_transaction_isolation", "read committed", "other levels fail on rows that others committed meanwhile; leave it out"},
	{"transaction_isolation", "read committed", "other levels fail on rows that others committed meanwhile; leave it out"},
	{"synchronous_commit", "on local remote_write remote_apply true yes 1", "a crash would forget acknowledged sends and repeat them; leave it out"},
	{"standard_conforming_strings", "on true yes 1", "quoted names and literals would change their meaning; leave it out"},
}

func refuse(cfg pq.Config) error {
	switch {
	case !cfg.BinaryParameters:
		return &DSNError{"binary_parameters", "no: behind a transaction pooler, statements of other clients would run in place of ours; leave it out"}
	case cfg.TargetSessionAttrs != pq.TargetSessionAttrsReadWrite && cfg.TargetSessionAttrs != pq.TargetSessionAttrsPrimary:
		return &DSNError{"target_session_attrs", fmt.Sprintf("%s could connect to a replica; write read-write, or leave it out", cfg.TargetSessionAttrs)}
	case cfg.ConnectTimeout <= 0:
		return &DSNError{"connect_timeout", "0 waits for ever on a silent network; give seconds, or leave it out for 10"}
	}
	for _, f := range forbidden {
		value, given := cfg.Runtime[f.name]
		if given && !strings.Contains(" "+f.allowed+" ", " "+strings.ToLower(value)+" ") {
			return &DSNError{f.name, value + ": " + f.problem}
		}
	}
	return nil
}
