// Package memory keeps a store in the process: the reference adapter of package
// storage, for tests, examples and programs that may forget.
//
// Transactions run one after the other under one lock, and what they wrote is
// undone when they fail. Rows are private copies in exactly the form in which a
// database would give them back. There is no host transaction to join: inside
// InTx call only what is bound to its Tx, or the call waits for itself.
package memory
