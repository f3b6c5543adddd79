package sqlstore

import "github.com/belfry-go/belfry/storage/driver"

// historyTable records which migrations were applied. Its row 0 is the lock
// under which they run. A migration that the host's own tool applied has no time.
const historyTable = "schema_migration"

// setUp makes room for the first table, and the history.
func (n naming) setUp() []string {
	return append(n.Dialect.setUp(n), n.createHistory())
}

// createHistory makes the history, if there is none.
func (n naming) createHistory() string {
	kinds := n.Dialect.ddl.kinds
	number, text, instant := kinds[driver.Int], kinds[driver.Text], kinds[driver.Instant]
	return "CREATE TABLE IF NOT EXISTS " + n.table(historyTable) + ` ("number" ` + number + ` PRIMARY KEY, "file" ` + text +
		` NOT NULL, "checksum" ` + text + ` NOT NULL, "applied_on" ` + instant + `) ` + n.Dialect.ddl.strict +
		`; INSERT INTO ` + n.table(historyTable) + ` VALUES (0, 'lock', '', NULL) ON CONFLICT ("number") DO NOTHING`
}

// lockHistory lets one process through until the end of its transaction.
func (n naming) lockHistory() []string {
	return n.Dialect.lockHistory(n.table(historyTable))
}

// hasHistory answers with one bool.
func (n naming) hasHistory() statement {
	return statement{n.Dialect.rebind(n.Dialect.exists()), []any{n.live(historyTable)}}
}

// history answers with the number and the checksum of each recorded migration.
func (n naming) history() string {
	return `SELECT "number", "checksum" FROM ` + n.table(historyTable)
}

// record is the text that records a migration, without its four values.
func (n naming) record() string { return "INSERT INTO " + n.table(historyTable) + " VALUES " }

// applied records a migration: number, file, checksum and moment.
func (n naming) applied(number int, file, sum string, on any) statement {
	return statement{n.Dialect.rebind(n.record() + "(?, ?, ?, ?)"), []any{number, file, sum, n.Dialect.value(on)}}
}

// columnsOf answers with the columns of a table that exists: name, type, not null,
// generated, collation.
func (n naming) columnsOf(table string) statement {
	return statement{n.Dialect.rebind(n.Dialect.columns()), []any{n.live(table)}}
}

// indexesOf answers with the indexes of a table that exists: name, unique, definition, key
// columns joined by commas.
func (n naming) indexesOf(table string) statement {
	return statement{n.Dialect.rebind(n.Dialect.indexes()), []any{n.live(table)}}
}

// invalid answers with the quoted name of an index of a table (PostgreSQL) if the process that made
// it concurrently did not end.
func (n naming) invalid(index, table string) statement {
	return statement{n.Dialect.rebind(`SELECT format('%I.%I', s.nspname, i.relname) FROM pg_index AS x
JOIN pg_class AS i ON i.oid = x.indexrelid JOIN pg_namespace AS s ON s.oid = i.relnamespace
WHERE x.indrelid = to_regclass(?) AND i.relname = ? AND NOT x.indisvalid`), []any{table, index}}
}
