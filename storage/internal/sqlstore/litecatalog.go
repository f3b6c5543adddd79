package sqlstore

// A writing transaction is alone from its beginning, so there is nothing to lock.

func (sqlite) setUp(names) []string { return nil }

func (sqlite) lockHistory(string) []string { return nil }

func (sqlite) exists() string {
	return "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = ?"
}

func (sqlite) columns() string {
	return `SELECT name, type, "notnull" OR pk, dflt_value IS NOT NULL OR pk, '' FROM pragma_table_info(?)`
}

func (sqlite) indexes() string {
	return `SELECT l.name, l."unique", COALESCE(m.sql, ''), COALESCE((
	SELECT group_concat(x.name, ',') FROM pragma_index_xinfo(l.name) AS x WHERE x.key AND x.name IS NOT NULL), '')
FROM pragma_index_list(?) AS l LEFT JOIN sqlite_master AS m ON m.type = 'index' AND m.name = l.name ORDER BY l.name`
}
