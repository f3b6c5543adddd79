// Package mutants proves that the tests can fail: for each invariant it makes a
// deliberate fault in a copy of the source and expects the invariant's tests to
// catch it. It holds only tests, and leaves the sources alone: the fault is laid
// over them with go test -overlay.
package mutants
