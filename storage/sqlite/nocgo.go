//go:build !cgo

package sqlite

import (
	sqldriver "database/sql/driver"
	"errors"
	"net/url"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// library is SQLite translated to Go, for programs that are built without cgo.
var library sqldriver.Driver = &sqlite.Driver{}

func connect(name string) (connection, error) {
	c, err := library.Open(name)
	if err != nil {
		return nil, err
	}
	return c.(connection), nil
}

func libraryVersion() int { return sqlite3.SQLITE_VERSION_NUMBER }

// resultCode is SQLite's own, the extended one where there is one.
func resultCode(err error) (code int, ok bool) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code(), true
}

// spelled are a host's parameters as the library spells them.
func spelled(params url.Values) {
	for _, name := range []string{"_cache_size", "_secure_delete"} {
		if v := params.Get(name); v != "" {
			params.Add("_pragma", strings.TrimPrefix(name, "_")+"("+v+")")
		}
		params.Del(name)
	}
}
