// Command apilist prints every exported name of the module's public packages
// with its type, one per line and in a fixed order, so that a change of the API
// shows as a changed line in docs/api.txt. Packages under internal or examples,
// commands and nested modules are not public. Run it in the module's root.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "apilist:", err)
		os.Exit(1)
	}
}

func run() error {
	packages, err := load(".")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for _, p := range packages {
		for _, line := range list(p) {
			fmt.Fprintln(out, line)
		}
	}
	return out.Flush()
}
