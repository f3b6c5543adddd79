// Command riversqlite is River on SQLite as a contender. It is a module of its
// own because the newest release of River's SQLite driver that could be had when
// it was written, v0.47.0, does not compile with the River that the comparison
// uses on PostgreSQL, v0.51.0. Here River is of the driver's release.
package main

import (
	"fmt"
	"os"

	"github.com/belfry-go/belfry/internal/contender"
)

var works = map[string]contender.Work{
	"fill":  fill,
	"drain": drain,
}

func main() {
	if err := contender.Serve(os.Stdin, os.Stdout, works); err != nil {
		fmt.Fprintln(os.Stderr, "riversqlite:", err)
		os.Exit(1)
	}
}
