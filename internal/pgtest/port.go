package pgtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports servers get lie below the ranges from which systems take those of
// outgoing connections. Otherwise a client that redials a stopped server could
// be given that very port, connect to itself, and keep the server from coming
// back.
const (
	firstPort = 15000
	lastPort  = 32000
)

// onFreePort calls start with a free port, and again with another one where
// somebody else was faster.
func onFreePort(start func(port int) error) error {
	var err error
	for range 5 {
		var port int
		if port, err = freePort(); err != nil {
			return err
		}
		if err = start(port); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

// freePort returns a port of 127.0.0.1 that was free a moment ago.
func freePort() (int, error) {
	var last error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			last = err
			continue
		}
		return port, listener.Close()
	}
	return 0, fmt.Errorf("pgtest: no free port between %d and %d: %w", firstPort, lastPort, last)
}
