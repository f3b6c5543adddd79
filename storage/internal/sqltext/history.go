package sqltext

import "github.com/belfry-go/belfry/storage/driver"

// HistoryTable records which migrations were applied. Its row 0 is the lock
// under which they run. A migration that the host's own tool applied has no time.
const HistoryTable = "schema_migration"

// SetUp makes room for the first table, and the history.
func (n Names) SetUp() []string {
	return append(n.Dialect.words.setUp(n), n.CreateHistory())
}

// CreateHistory makes the history, if there is none.
func (n Names) CreateHistory() string {
	kinds := n.Dialect.ddl.kinds
	number, text, instant := kinds[driver.Int], kinds[driver.Text], kinds[driver.Instant]
	return "CREATE TABLE IF NOT EXISTS " + n.table(HistoryTable) + ` ("number" ` + number + ` PRIMARY KEY, "file" ` + text +
		` NOT NULL, "checksum" ` + text + ` NOT NULL, "applied_on" ` + instant + `) ` + n.Dialect.ddl.strict +
		`; INSERT INTO ` + n.table(HistoryTable) + ` VALUES (0, 'lock', '', NULL) ON CONFLICT ("number") DO NOTHING`
}

// LockHistory lets one process through until the end of its transaction.
func (n Names) LockHistory() []string {
	return n.Dialect.words.lockHistory(n.table(HistoryTable))
}

// Hurry comes before what changes tables: as long as that waits for a table, those who come
// later wait behind it.
func (d *Dialect) Hurry() []string { return d.words.hurry() }

// HasHistory answers with one bool.
func (n Names) HasHistory() Statement {
	return Statement{n.Dialect.rebind(n.Dialect.words.exists()), []any{n.live(HistoryTable)}}
}

// History answers with the number and the checksum of each recorded migration.
func (n Names) History() string {
	return `SELECT "number", "checksum" FROM ` + n.table(HistoryTable)
}

// Record is the text that records a migration, without its four values.
func (n Names) Record() string { return "INSERT INTO " + n.table(HistoryTable) + " VALUES " }

// Applied records a migration: number, file, checksum and moment.
func (n Names) Applied(number int, file, sum string, on any) Statement {
	return Statement{n.Dialect.rebind(n.Record() + "(?, ?, ?, ?)"), []any{number, file, sum, n.Dialect.Value(on)}}
}

// ColumnsOf answers with the columns of a table that exists: name, type, not null,
// generated, collation.
func (n Names) ColumnsOf(table string) Statement {
	return Statement{n.Dialect.rebind(n.Dialect.words.columns()), []any{n.live(table)}}
}

// IndexesOf answers with the indexes of a table that exists: name, unique, definition, key
// columns joined by commas.
func (n Names) IndexesOf(table string) Statement {
	return Statement{n.Dialect.rebind(n.Dialect.words.indexes()), []any{n.live(table)}}
}

// Invalid answers with the quoted name of an index of a table (PostgreSQL) if whoever made
// it concurrently did not end.
func (n Names) Invalid(index, table string) Statement {
	return Statement{n.Dialect.rebind(`SELECT format('%I.%I', s.nspname, i.relname) FROM pg_index AS x
JOIN pg_class AS i ON i.oid = x.indexrelid JOIN pg_namespace AS s ON s.oid = i.relnamespace
WHERE x.indrelid = to_regclass(?) AND i.relname = ? AND NOT x.indisvalid`), []any{table, index}}
}
