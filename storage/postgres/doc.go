// Package postgres keeps Belfry's tables in PostgreSQL 14 or newer. [Open] makes
// a pool of its own, [New] works on the host's, and [Store.Join] in a transaction
// of the host.
//
// # What Open does beyond connecting
//
// The driver, lib/pq, has traps that this package closes:
//
//   - An auto-commit statement may be executed twice when its reply is lost.
//     Each write runs in an explicit transaction, and a lost reply to COMMIT
//     is storage.ErrOutcomeUnknown.
//   - A context does not end a call on a dead network. Reads and writes have
//     deadlines, and calls end within their context plus one second.
//   - Behind a transaction pooler the default protocol may run another client's
//     statement. Statements are sent in one step (binary_parameters=yes), nothing
//     is prepared, and no state is kept in a session.
//   - A COMMIT that was cancelled while it waited for a synchronous standby passes
//     for a success. It is storage.ErrOutcomeUnknown.
//   - A replica is a connection like any other. It is refused, and a list of hosts
//     follows a promotion.
//   - At REPEATABLE READ a known key is a serialization failure. Own transactions
//     are READ COMMITTED; in a host's it is storage.ErrRetryTx.
//
// # What differs on a pool of the host
//
// The pool may be lib/pq's, or pgx's through database/sql (package stdlib of pgx
// v5, sql.Open("pgx", dsn)); the contract of storage holds on both, and their
// errors are told apart alike. What the connections do is the host's affair:
//
//   - A dead network ends a call when the driver notices. pgx gives a connection
//     up when its context ends; lib/pq waits for the answer. Only a COMMIT or
//     ROLLBACK is left behind in any case, a second after its context has ended.
//   - A COMMIT that an operator cancels while it waits for a synchronous standby
//     passes for a success.
//   - A replica is refused when the store is made, and not when the driver
//     connects again later: set target_session_attrs=read-write.
//
// Behind a transaction pooler a statement has to be sent in one step:
//
//	lib/pq  binary_parameters=yes
//	pgx     default_query_exec_mode=exec, cache_describe or simple_protocol
//
// [New] refuses other ways there where it finds the pooler out: pgx's own default,
// cache_statement, too, even if the pooler follows prepared statements. Without a
// pooler every mode will do, and pgx's default spares the server most planning.
package postgres
