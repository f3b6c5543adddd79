package sqlstore

// Class is what an error of the database means to a transaction.
type Class int

// The classes of errors.
const (
	Unknown       Class = iota // not recognised: reported as it is
	Unique                     // a unique constraint
	Busy                       // SQLITE_BUSY, SQLITE_LOCKED: run again
	LockTimeout                // 55P03: run again with half the batch
	Serialization              // 40001, 40P01, SQLITE_BUSY_SNAPSHOT: run again
	ReadOnly                   // a replica or a read-only file
	Unsupported                // 0A000: a replica, if it is a BEGIN that the server cannot do
	NoRoom                     // of connections, memory, disk: later it may have some
	Undone                     // COMMIT of a transaction that had failed: it was rolled back
	Connection                 // the connection is gone: the outcome of a COMMIT is unknown
)

// states maps SQLSTATE codes to what they mean to a transaction; the source is
// "PostgreSQL Error Codes" in PostgreSQL's manual.
var states = map[string]Class{
	"23505": Unique,        // unique_violation
	"55P03": LockTimeout,   // lock_not_available
	"40001": Serialization, // serialization_failure
	"40P01": Serialization, // deadlock_detected
	"25006": ReadOnly,      // read_only_sql_transaction
	"0A000": Unsupported,   // feature_not_supported
	"40003": Connection,    // statement_completion_unknown
	"57P01": Connection,    // admin_shutdown
	"57P02": Connection,    // crash_shutdown
	"57P03": Connection,    // cannot_connect_now
	"57P04": Connection,    // database_dropped
	"57P05": Connection,    // idle_session_timeout
	"25P03": Connection,    // idle_in_transaction_session_timeout
	"25P04": Connection,    // transaction_timeout
}

// families are those of which all states mean the same.
var families = map[string]Class{
	"08": Connection, // connection_exception
	"53": NoRoom,     // insufficient_resources: disk_full, out_of_memory, too_many_connections
}

// OfState is the class of a SQLSTATE.
func OfState(state string) Class {
	if class, ok := states[state]; ok || len(state) < 2 {
		return class
	}
	return families[state[:2]]
}

// codes maps SQLite's result codes; the source is "Result and Error Codes",
// https://www.sqlite.org/rescode.html. After an I/O error the file may hold what was
// reported as failed, so it counts as a lost connection. A code that says more than
// its lowest byte is looked up first.
var codes = map[int]Class{
	5:                  Busy,       // SQLITE_BUSY
	6:                  Busy,       // SQLITE_LOCKED
	7:                  NoRoom,     // SQLITE_NOMEM
	8:                  ReadOnly,   // SQLITE_READONLY
	10:                 Connection, // SQLITE_IOERR
	13:                 NoRoom,     // SQLITE_FULL
	14:                 Connection, // SQLITE_CANTOPEN
	15:                 Busy,       // SQLITE_PROTOCOL
	busySnapshot:       Serialization,
	constraintPrimary:  Unique,
	constraintUnique:   Unique,
	constraintOfRowIDs: Unique,
}

// Extended result codes: the higher bytes say more about the lowest.
const (
	busySnapshot       = 5 | 2<<8
	constraintPrimary  = 19 | 6<<8
	constraintUnique   = 19 | 8<<8
	constraintOfRowIDs = 19 | 10<<8
)

// OfCode is the class of an extended result code of SQLite.
func OfCode(code int) Class {
	if class, ok := codes[code]; ok {
		return class
	}
	return codes[code&0xff]
}
