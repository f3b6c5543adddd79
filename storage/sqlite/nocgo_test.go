//go:build !cgo

package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"testing"

	"modernc.org/sqlite"
)

// inC says that the library makes calls of C's, which a test can make fail.
const inC = false

// stops are what the function stop(n) cancels: functions belong to the driver.
var stops struct {
	sync.Mutex
	all []context.CancelFunc
}

func init() {
	library.(*sqlite.Driver).MustRegisterScalarFunction("stop", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		stops.Lock()
		defer stops.Unlock()
		stops.all[args[0].(int64)]()
		return int64(0), nil
	})
}

// stopping gives a connection a function that cancels a context from within a
// statement, and says how it is called.
func stopping(_ *testing.T, _ *sql.Conn, cancel context.CancelFunc) (call string) {
	stops.Lock()
	defer stops.Unlock()
	stops.all = append(stops.all, cancel)
	return fmt.Sprintf("stop(%d)", len(stops.all)-1)
}
