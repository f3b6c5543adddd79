// Package mutants breaks the code on purpose, in one place at a time, and runs the test
// that must notice: one or two mutants for each promise of docs/guarantees.md, and for each
// rule that a bug once broke.
package mutants
