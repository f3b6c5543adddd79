// Command bench compares Belfry with its peers on one machine in one run; see
// README.md for the rules.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/belfry-go/belfry/bench/belfry"
	"github.com/belfry-go/belfry/bench/goqite"
	"github.com/belfry-go/belfry/bench/river"
	"github.com/belfry-go/belfry/internal/contender"
)

var contenders = map[string]map[string]contender.Work{
	"bare":   belfry.Bare,
	"belfry": belfry.Works,
	"goqite": goqite.Works,
	"river":  river.Works,
}

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 0:
		return compare(context.Background())
	case len(args) == 2 && args[0] == "contender":
		return contender.Serve(os.Stdin, os.Stdout, contenders[args[1]])
	case len(args) == 3 && args[0] == "draw":
		return draw(args[1], args[2])
	}
	return errors.New("usage: bench, or bench draw goals.json folder")
}
