// This program is built without cgo, as programs for small images often are. It
// prints what the driver says about that, and what we say.
package main

import (
	"context"
	"database/sql"
	"fmt"

	_ "github.com/mattn/go-sqlite3" // the driver

	"github.com/belfry-go/belfry/storage/sqlite"
)

func main() {
	db, err := sql.Open("sqlite3", ":memory:")
	if err == nil {
		err = db.Ping()
	}
	fmt.Println(err)
	_, err = sqlite.Open(context.Background(), ":memory:", nil)
	fmt.Println(err)
}
