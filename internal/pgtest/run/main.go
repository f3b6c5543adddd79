// Command run runs a command with one PostgreSQL cluster for all tests in it, which
// would start one for each package otherwise. It is gone when the command has ended.
//
//	go run github.com/belfry-go/belfry/internal/pgtest/run -- go test ./...
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/belfry-go/belfry/internal/pgtest"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: run -- command [argument ...]") }
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	code, err := pgtest.RunCommand(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}
