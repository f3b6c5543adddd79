package pgserver

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
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

// Default is a setting that is added to a connection string that does not have it,
// unless the environment variable is set.
type Default struct{ Name, Value, Env string }

// Complete adds defaults to dsn, a URL or key=value pairs.
func Complete(dsn string, defaults []Default) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return completePairs(dsn, defaults), nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", Malformed(err)
	}
	q := u.Query()
	for _, d := range defaults {
		if !q.Has(d.Name) && os.Getenv(d.Env) == "" {
			q.Set(d.Name, d.Value)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// completePairs puts the defaults in front: of a repeated key the last counts.
func completePairs(dsn string, defaults []Default) string {
	var b strings.Builder
	for _, d := range defaults {
		if os.Getenv(d.Env) == "" {
			fmt.Fprintf(&b, "%s=%s ", d.Name, d.Value)
		}
	}
	return b.String() + dsn
}

// Malformed keeps what the driver says about a setting, and nothing of what
// could be a piece of a password.
func Malformed(err error) error {
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

// RefuseSettings refuses run-time settings that break a promise.
func RefuseSettings(given map[string]string) error {
	for _, f := range forbidden {
		value, given := given[f.name]
		if given && !strings.Contains(" "+f.allowed+" ", " "+strings.ToLower(value)+" ") {
			return &DSNError{f.name, value + ": " + f.problem}
		}
	}
	return nil
}
