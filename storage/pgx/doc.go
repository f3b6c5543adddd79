// Package pgx keeps Belfry's tables in PostgreSQL 14 or newer through pgx: [Open] makes
// a pool of its own, [New] works on the host's, and [Store.InHostTx] and [Store.Join] in
// a pgx.Tx of the host, in which sqlc's queries run too. It is a module of its own, and
// links no other driver. The tables, the options and the promises are those of package
// storage/postgres; stores of both may work on one database at once.
//
// # What Open does beyond connecting
//
//   - Each write runs in an explicit transaction, and a lost reply to COMMIT is
//     storage.ErrOutcomeUnknown.
//   - A COMMIT that an operator cancels while it waits for a synchronous standby passes
//     for a success. It is storage.ErrOutcomeUnknown.
//   - pgx ends a call with its context, but waits for a silent network behind it. A call
//     without a context that ends has a bound, and so has Close.
//   - A replica is refused, and a list of hosts follows a promotion.
//   - At REPEATABLE READ a known key is a serialization failure. Own transactions are
//     READ COMMITTED; in a host's it is storage.ErrRetryTx.
//   - Statements are prepared once per connection. Behind a transaction pooler, which
//     Open finds out, they are sent whole (default_query_exec_mode=exec), those that a
//     host runs on [Store.Pool] and in its transactions included.
//
// # What differs on a pool of the host
//
// How statements are sent is the pool's affair, and [New] refuses what a transaction
// pooler would mislay: default_query_exec_mode has to be exec, cache_describe or
// simple_protocol there. The bound on a call whose context does not end, replicas after
// the opening, and the standby's warning are the host's affair too.
package pgx
