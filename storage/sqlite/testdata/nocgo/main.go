// This program is built without cgo, as programs for small images often are. It writes
// into the file that it is told, and prints what the C driver says and what we say.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	_ "github.com/mattn/go-sqlite3" // a host's, which is a stub here

	"github.com/belfry-go/belfry/storage/sqlite"
)

func main() {
	db, err := sql.Open("sqlite3", ":memory:")
	if err == nil {
		err = db.Ping()
	}
	fmt.Println(err)
	store, err := sqlite.Open(context.Background(), os.Args[1], nil)
	if err == nil {
		_, err = store.DB().Exec("INSERT INTO host SELECT 7")
	}
	fmt.Println(err)
}
