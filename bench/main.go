// Command bench compares Belfry with its peers on one machine in one run; see
// README.md for the rules.
package main

import (
	"context"
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
	if len(os.Args) == 3 && os.Args[1] == "contender" {
		exit(contender.Serve(os.Stdin, os.Stdout, contenders[os.Args[2]]))
	}
	exit(compare(context.Background()))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
