// Package storagetest checks that an adapter keeps the contract of package
// storage. [Run] has a subtest for each sentence of it, [Schemas] compares
// tables with the structs that describe them, and [Bench] measures the verbs.
//
// An adapter's own test is a [Harness] and a call:
//
//	func TestContract(t *testing.T) {
//		storagetest.Run(t, storagetest.Harness{Open: open})
//	}
//
// What an adapter cannot do it declares in its Harness, with the reason; what is
// neither declared nor there is a failure.
package storagetest
