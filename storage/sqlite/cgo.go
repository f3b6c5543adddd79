//go:build cgo

package sqlite

import (
	sqldriver "database/sql/driver"
	"errors"
	"net/url"

	"github.com/mattn/go-sqlite3"
)

// library is SQLite in C.
var library sqldriver.Driver = &sqlite3.SQLiteDriver{}

func connect(name string) (connection, error) {
	c, err := library.Open(name)
	if err != nil {
		return nil, err
	}
	return c.(*sqlite3.SQLiteConn), nil
}

func libraryVersion() int {
	_, n, _ := sqlite3.Version()
	return n
}

// resultCode is SQLite's own, the extended one where there is one.
func resultCode(err error) (code int, ok bool) {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return 0, false
	}
	if e.ExtendedCode != 0 {
		return int(e.ExtendedCode), true
	}
	return int(e.Code), true
}

// spelled are a host's parameters as the library spells them.
func spelled(url.Values) {}
