package sqlstore

// setUp needs no right to create a schema that exists. The lock ends with its
// transaction, so it is safe behind a pooler.
func (postgres) setUp(n names) []string {
	texts := []string{"SELECT pg_advisory_xact_lock(hashtext('belfry " + historyTable + "'))"}
	if n.schema != "" {
		texts = append(texts, "DO $$ BEGIN IF to_regnamespace('"+quote(n.schema)+"') IS NULL THEN CREATE SCHEMA "+
			quote(n.schema)+"; END IF; END $$")
	}
	return texts
}

func (postgres) lockHistory(table string) []string {
	return []string{"SELECT 1 FROM " + table + ` WHERE "number" = 0 FOR UPDATE`}
}

func (postgres) exists() string { return "SELECT to_regclass(?) IS NOT NULL" }

func (postgres) columns() string {
	return `SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
	a.atthasdef OR a.attidentity <> '', COALESCE(c.collname, '')
FROM pg_attribute AS a LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
WHERE a.attrelid = to_regclass(?) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`
}

func (postgres) indexes() string {
	return `SELECT i.relname, x.indisunique, pg_get_indexdef(x.indexrelid), COALESCE((
	SELECT string_agg(a.attname, ',' ORDER BY k.n) FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS k(att, n)
	JOIN pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = k.att WHERE k.n <= x.indnkeyatts), '')
FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid WHERE x.indrelid = to_regclass(?) ORDER BY i.relname`
}
