package mutants

// adapterMutants are faults in the SQL adapters. Where both of them keep an
// invariant with one text, SQLite shows the fault, since it needs no server.
var adapterMutants = []mutant{
	{
		Name: "I-3 PostgreSQL knows rows that were written by hand", File: "storage/internal/sqlstore/untouched.go",
		Old: "` = r.written_by`", New: "` IS NOT NULL`",
		Package: "./storage/postgres", Run: "TestARowWrittenByHandIsNotKnown", Postgres: true,
	},
	{
		Name: "I-3 PostgreSQL knows rows that were saved where they were inserted", File: "storage/internal/sqlstore/untouched.go",
		Old: "r.\"version\" = 1 AND", New: "",
		Package: "./storage/postgres", Run: "TestContract/^Open$/^untouched$", Postgres: true,
	},
	{
		Name: "storage: PostgreSQL walks all rows between two keys", File: "storage/internal/sqlstore/untouched.go",
		Old: "int64(stretch*len(keys))", New: "int64(stretch*len(keys)*1000)",
		Package: "./storage/postgres", Run: "TestGuardKnownRowsAreWalked", Postgres: true,
	},
	{
		Name: "I-1 SQLite has a table without its unique index", File: "storage/sqlite/migrations/0003_automation.sql",
		Old: "\ttrace_blob_name      TEXT NOT NULL,\n\tUNIQUE (scope, key)\n", New: "\ttrace_blob_name      TEXT NOT NULL\n",
		Package: "./automation", Run: "TestTheMigrationsMakeTheTables/sqlite",
	},
	{
		Name: "I-1 PostgreSQL has a table without its unique index", File: "storage/postgres/migrations/0003_automation.sql",
		Old: "\ttrace_blob_name      text NOT NULL,\n\tUNIQUE (scope, key) WITH (fillfactor = 50)\n", New: "\ttrace_blob_name      text NOT NULL\n",
		Package: "./automation", Run: "TestTheMigrationsMakeTheTables/postgres", Postgres: true,
	},
	{
		Name: "I-1 a migration that was edited is not noticed", File: "storage/internal/sqlstore/history.go",
		Old: "case sum != m.sum:", New: "case false && sum != m.sum:",
		Package: "./storage/internal/sqlstore", Run: "TestAnEditedMigrationIsAnError/(?i)sqlite",
	},
	{
		Name: "I-3 SQLite overwrites a key that is taken", File: "storage/internal/sqlstore/sqlite.go",
		Old: "DO NOTHING RETURNING", New: `DO UPDATE SET "status" = excluded."status" RETURNING`,
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^insert$",
	},
	{
		Name: "I-3 PostgreSQL overwrites a key that is taken", File: "storage/internal/sqlstore/postgres.go",
		Old: "DO NOTHING`+answer", New: "DO UPDATE SET status = excluded.status`+answer",
		Package: "./storage/postgres", Run: "TestContract/^Open$/^insert$", Postgres: true,
	},
	{
		Name: "I-3 SQL writes columns that are fixed", File: "storage/internal/sqlstore/table.go",
		Old: `if !c.Fixed && c.Name != "version" {`, New: `if c.Name != "id" && c.Name != "version" {`,
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^save$",
	},
	{
		Name: "I-3 PostgreSQL gives up over a key that it expected to be free", File: "storage/internal/sqlstore/postgres.go",
		Old: "class: Serialization, means: storage.ErrBusy, cause: err}", New: "means: storage.ErrBusy, cause: err}",
		Package: "./storage/postgres", Run: "TestALargeInsertExpects", Postgres: true,
	},
	{
		Name: "I-3 PostgreSQL ends a host's transaction over a taken key", File: "storage/internal/sqlstore/postgres.go",
		Old: "large && !x.joined && !x.again", New: "large && !x.again",
		Package: "./storage/postgres", Run: "TestAHostsTransactionAsksAboutEachKey", Postgres: true,
	},
	{
		Name: "storage: a lock time-out does not count behind another failure", File: "storage/internal/sqlstore/intx.go",
		Old: "class == LockTimeout && waits == tries", New: "class == LockTimeout && try == tries",
		Package: "./storage/internal/sqlstore", Run: "TestInTxCountsLockTimeOutsAlone", Hangs: true,
	},
	{
		Name: "storage: a second run expects as the first did", File: "storage/internal/sqlstore/intx.go",
		Old: "\t\tagain = true\n", New: "",
		Package: "./storage/postgres", Run: "TestARunAfterATakenKeyAsks", Postgres: true,
	},
	{
		Name: "storage: PostgreSQL is soon an optimist again", File: "storage/internal/sqlstore/optimism.go",
		Old: "o.streak.Store(disappointed)", New: "o.streak.Store(0)",
		Package: "./storage/internal/sqlstore", Run: "TestAnOptimistIsConvincedSlowly",
	},
	{
		Name: "storage: PostgreSQL takes one column of moments for another", File: "storage/internal/sqlstore/pgrows.go",
		Old: "e.array == p.array {", New: "len(e.array) == len(p.array) {",
		Package: "./storage/postgres", Run: "TestContract/^Open$/^values$", Postgres: true,
	},
	{
		Name: "I-5 SQLite writes a row without a new version", File: "storage/internal/sqlstore/sqlite.go",
		Old: `SET "version" = "version" + 1, `, New: `SET "version" = "version", `,
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^save$",
	},
	{
		Name: "I-5 PostgreSQL writes a row without a new version", File: "storage/internal/sqlstore/postgres.go",
		Old: `SET "version" = t."version" + 1, `, New: `SET "version" = t."version", `,
		Package: "./storage/postgres", Run: "TestContract/^Open$/^save$", Postgres: true,
	},
	{
		Name: "I-5 SQL takes over without a new version", File: "storage/internal/sqlstore/due.go",
		Old: `"version" = "version" + 1,`, New: `"version" = "version" + CASE WHEN "lease_expires_on" IS NULL THEN 1 ELSE 0 END,`,
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^take-over$",
	},
	{
		Name: "I-5 SQLite answers a claim with the version before it", File: "storage/internal/sqlstore/sqlite.go",
		Old: "\t\trec.Version++\n", New: "",
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^claim$",
	},
	{
		Name: "I-5 SQLite raises the version when it extends a lease", File: "storage/internal/sqlstore/sqlite.go",
		Old: `SET "lease_expires_on" = ?`, New: `SET "version" = "version" + 1, "lease_expires_on" = ?`,
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^extend$",
	},
	{
		Name: "I-5 PostgreSQL raises the version when it extends a lease", File: "storage/internal/sqlstore/postgres.go",
		Old: `SET "lease_expires_on" = ?`, New: `SET "version" = t."version" + 1, "lease_expires_on" = ?`,
		Package: "./storage/postgres", Run: "TestContract/^Open$/^extend$", Postgres: true,
	},
	{
		Name: "I-5 a second run saves the versions that the first one raised", File: "storage/internal/sqlstore/tx.go",
		Old: "m.record.ID, m.record.Version = m.id, m.version", New: "_ = m",
		Package: "./storage/internal/sqlstore", Run: "TestI5_",
	},
	{
		Name: "I-6 SQL claims a row that is held", File: "storage/internal/sqlstore/due.go",
		Old: `(t."lease_expires_on" <= ?`, New: `(t."lease_expires_on" <= ? OR t."lease_expires_on" IS NOT NULL`,
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^claim$/^a_held_row",
	},
	{
		Name: "I-6 SQL claims a row of any status", File: "storage/internal/sqlstore/due.go",
		Old: `"lease_expires_on" IS NULL AND `, New: `"lease_expires_on" IS NULL OR FALSE AND `,
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^claim$",
	},
	{
		Name: "I-6 PostgreSQL claims without a lock", File: "storage/internal/sqlstore/postgres.go",
		Old:     "WHERE ctid = ANY(ARRAY(SELECT c.ctid` +\n\t\t\t\" FROM unnest(?::smallint[], ?::timestamptz[], ?::bigint[], ?::bigint[]) AS l(lane, due, id, n),\" +\n\t\t\tfmt.Sprintf(pgLane, \"ctid\", t.name, t.due(s), \"l.n FOR UPDATE SKIP LOCKED\"",
		New:     "WHERE \"id\" = ANY(ARRAY(SELECT c.\"id\"` +\n\t\t\t\" FROM unnest(?::smallint[], ?::timestamptz[], ?::bigint[], ?::bigint[]) AS l(lane, due, id, n),\" +\n\t\t\tfmt.Sprintf(pgLane, `\"id\"`, t.name, t.due(s), \"l.n\"",
		Package: "./storage/postgres", Run: "TestContract/^Open$/^exclusion$", Postgres: true,
	},
	{
		Name: "I-6 a lease is made with the machine's own clock", File: "storage/postgres/clock.go",
		Old: "return c.line.now(c.elapsed())", New: "return c.Clock.Now()",
		Package: "./storage/postgres", Run: "TestClockShowsTheServersTime",
	},
	{
		Name: "I-7 SQLite writes whatever the version", File: "storage/internal/sqlstore/sqlite.go",
		Old: "\" = ?\") + where + `\"version\" = ?`", New: "\" = ?\") + where + `(\"version\" = ? OR TRUE)`",
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^take-over$",
	},
	{
		Name: "I-7 PostgreSQL writes whatever the version", File: "storage/internal/sqlstore/postgres.go",
		Old: "t.mutable...), `t.\"version\" = c.\"version\"`)", New: "t.mutable...), `TRUE`)",
		Package: "./storage/postgres", Run: "TestContract/^Open$/^take-over$", Postgres: true,
	},
	{
		Name: "I-7 SQLite extends the lease of another claim", File: "storage/internal/sqlstore/sqlite.go",
		Old: `"claim_token" = ? AND`, New: `("claim_token" = ? OR TRUE) AND`,
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^extend$",
	},
	{
		Name: "I-7 PostgreSQL extends the lease of another claim", File: "storage/internal/sqlstore/postgres.go",
		Old: `t."claim_token" = c."claim_token" AND`, New: `TRUE AND`,
		Package: "./storage/postgres", Run: "TestContract/^Open$/^extend$", Postgres: true,
	},
	{
		Name: "I-7 SQLite goes on after a context has ended in a statement", File: "storage/internal/sqlstore/dialect.go",
		Old: "detached: true,", New: "detached: false,",
		Package: "./storage/sqlite", Run: "TestTrap7NothingIsCommitted",
	},
	{
		Name: "I-7 a transaction goes on after a verb has failed", File: "storage/internal/sqlstore/tx.go",
		Old: "\tx.err = f\n", New: "",
		Package: "./storage/internal/sqlstore", Run: "TestInTxNeverCommitsAfterAVerbFailed",
	},
	{
		Name: "I-7 a pooler that mixes clients up is accepted", File: "storage/postgres/dsn.go",
		Old: "case !cfg.BinaryParameters:", New: "case false:",
		Package: "./storage/postgres", Run: "TestUnsafeSettingsAreRefusedByName",
	},
	{
		Name: "I-7 a host's pool behind such a pooler is accepted", File: "storage/postgres/selftest.go",
		Old: "if err == nil && twoStep {", New: "if false && twoStep {",
		Package: "./storage/postgres", Run: "TestTrap3UnsafeHostPoolIsRefused", Postgres: true,
	},
	{
		Name: "I-8 PostgreSQL commits each statement by itself", File: "storage/internal/sqlstore/dialect.go",
		Old: "\"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL", New: "\"SET",
		Package: "./storage/postgres", Run: "TestTrap1LostReplyToAStatement", Postgres: true,
	},
	{
		Name: "I-10 COMMIT ends with its context", File: "storage/internal/sqlstore/session.go",
		Old: "free := context.WithoutCancel(ctx)", New: "free := ctx",
		Package: "./storage/internal/sqlstore", Run: "TestI30_CommitIsLeftAloneAfterTheGrace",
	},
	{
		Name: "I-10 a lost reply to COMMIT passes for a failure", File: "storage/internal/sqlstore/session.go",
		Old: "_ = x.release(true)\n\t\treturn unknown(err)", New: "_ = x.release(true)\n\t\treturn f",
		Package: "./storage/internal/sqlstore", Run: "TestLostAnswerToCommit",
	},
	{
		Name: "I-10 a COMMIT that no standby has passes for a success", File: "storage/internal/sqlstore/session.go",
		Old: "return unknown(x.release(false))", New: "_ = x.release(false)\n\t\t\treturn nil",
		Package: "./storage/internal/sqlstore", Run: "TestDoubtOfTheAdapter",
	},
	{
		Name: "I-12 SQL leaves a busy row to a dead worker", File: "storage/internal/sqlstore/due.go",
		Old: "(t.\"lease_expires_on\" <= ?` +\n\t\t` OR t.\"lease_expires_on\" IS NULL AND `", New: "((t.\"lease_expires_on\" <= ?` +\n\t\t` OR t.\"lease_expires_on\" IS NULL) AND `",
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^take-over$",
	},
	{
		Name: "I-12 SQLite does not tell what it took over", File: "storage/internal/sqlstore/sqlite.go",
		Old: "!rec.LeaseExpiresOn.IsZero()", New: "false",
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^take-over$",
	},
	{
		Name: "I-30 SQLite writes rows after the context has ended", File: "storage/internal/sqlstore/direct.go",
		Old: "err := x.usable(ctx); err != nil", New: "err := x.err; err != nil",
		Package: "./storage/internal/sqlstore", Run: "TestI30_SQLiteWritesNoRow",
	},
	{
		Name: "I-14 SQL claims types that nobody here serves", File: "storage/internal/sqlstore/due.go",
		Old: "\" AND \" + in(`t.\"type\"`, storage.Text)", New: "\" AND (TRUE OR \" + in(`t.\"type\"`, storage.Text) + \")\"",
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^claim$",
	},
	{
		Name: "I-28 SQL reads rows of every tenant", File: "storage/internal/sqlstore/builder.go",
		Old: "b.write(`\"scope\" = ?`", New: "b.write(`TRUE OR \"scope\" = ?`",
		Package: "./storage/sqlite", Run: "TestSuiteInMemory/^scopes$",
	},
	{
		Name: "I-30 SQLite waits for a lock whatever its context", File: "storage/sqlite/dsn.go",
		Old: "\"_busy_timeout\":    \"100\",\n\t\t\"_stmt_cache_size\": \"64\",", New: "\"_busy_timeout\": \"3000\",",
		Package: "./storage/sqlite", Run: "TestI30_TheWaitForALock",
	},
	{
		Name: "I-30 no read from PostgreSQL has a deadline", File: "storage/postgres/netconn.go",
		Old: "time.Duration(c.bound.Load()); d > 0", New: "time.Duration(c.bound.Load()); d < 0",
		Package: "./storage/postgres", Run: "TestReadsAndWritesOnASilentNetworkEnd", Hangs: true,
	},
	{
		Name: "I-30 a call to PostgreSQL goes on after its context", File: "storage/postgres/conn.go",
		Old: "func() { c.net.expire(grace) })", New: "func() {})",
		Package: "./storage/postgres", Run: "TestI30_CallsEndInABlackHole/^statement$", Postgres: true, Hangs: true,
	},
	{
		Name: "I-30 SQLite takes the lock to write only when it writes", File: "storage/internal/sqlstore/dialect.go",
		Old: `"BEGIN IMMEDIATE"`, New: `"BEGIN"`,
		Package: "./storage/internal/sqlstore", Run: "TestSQLiteTransactionsThatReadFirst",
	},
}
