// Package postgres keeps Belfry's tables in PostgreSQL 13 or newer. [Open] makes
// a pool of its own, [New] works on the host's, and [Store.Join] in a transaction
// of the host.
//
// # What Open does beyond connecting
//
// The driver, lib/pq, has traps that this package closes:
//
//   - An auto-commit statement may be executed twice when its reply is lost.
//     Whatever writes runs in an explicit transaction, and a lost reply to COMMIT
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
// On a pool of the host the second and the fourth depend on the host's driver.
// With pgx behind a transaction pooler, choose a mode without prepared statements
// and without a separate describe step (default_query_exec_mode=exec).
package postgres
