// Package contender is how the comparison in bench talks to the processes that
// it compares: each contender is a process of its own, so that none inherits
// another's heap or caches. It gets a [Task] as one line of JSON, says when it is
// ready, works between go and stop, tells how many rows it has done, and answers
// with a [Result]. Only bench imports it.
package contender
