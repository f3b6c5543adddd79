// Package sqlite keeps a store in an SQLite file: the embedded default. It needs
// cgo. Any number of processes on one machine may work on one file; on a network
// file system that is not safe, and SQLite's locks do not promise it.
//
// The store owns its connections, since SQLite's settings belong to a connection
// and a host's pool may have others: one connection writes, a few read. A host
// that wants its own writes in the same transaction takes the writing handle from
// [Store.DB], begins there, and binds the transaction with Join:
//
//	tx, err := store.DB().BeginTx(ctx, nil)
//	bound := store.Join(tx)
//
// Until that transaction ends nothing else can be written, so it calls only what
// is bound to it: InTx in the same goroutine would wait for itself.
package sqlite
