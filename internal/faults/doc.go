// Package faults proves that the tests can fail: it makes deliberate faults in
// copies of functions, at least one for each invariant, and expects the tests
// that a fault names to catch it. It holds only tests, and leaves the sources
// alone: the faulty copies are laid over them with go test -overlay.
package faults
