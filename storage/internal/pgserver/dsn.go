package pgserver

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"
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

// setting is added to a connection string that does not have it, unless the environment
// variable is set.
type setting struct{ name, value, env string }

var defaults = []setting{
	{"target_session_attrs", "read-write", "PGTARGETSESSIONATTRS"},
	{"connect_timeout", "10", "PGCONNECT_TIMEOUT"},
	{"application_name", "belfry", "PGAPPNAME"},
}

// Complete adds to dsn, a URL or key=value pairs, what it does not say of a session with
// a primary. oneStep, if not empty, is the name of a driver's setting that is "yes" too.
func Complete(dsn, oneStep string) (string, error) {
	defaults := defaults
	if oneStep != "" {
		defaults = append([]setting{{oneStep, "yes", ""}}, defaults...)
	}
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return completePairs(dsn, defaults), nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", Malformed(err)
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
func completePairs(dsn string, defaults []setting) string {
	var b strings.Builder
	for _, d := range defaults {
		if os.Getenv(d.env) == "" {
			fmt.Fprintf(&b, "%s=%s ", d.name, d.value)
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

// Refuse refuses settings that break a promise: the server to look for, the time to
// connect, and run-time settings.
func Refuse(target string, connect time.Duration, given map[string]string) error {
	switch {
	case target != "read-write" && target != "primary":
		return &DSNError{"target_session_attrs", target + " could connect to a replica; write read-write, or leave it out"}
	case connect <= 0:
		return &DSNError{"connect_timeout", "0 waits for ever on a silent network; give seconds, or leave it out for 10"}
	}
	for _, f := range forbidden {
		value, given := given[f.name]
		if given && !strings.Contains(" "+f.allowed+" ", " "+strings.ToLower(value)+" ") {
			return &DSNError{f.name, value + ": " + f.problem}
		}
	}
	return nil
}
