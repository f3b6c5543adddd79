-- Retention of due work: where the walk that deletes old rows is. See
-- 0001_store.sql for what all tables have in common.

-- One row. Its lease says which process walks, due_on when to go on.
CREATE TABLE {automation_retention} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- walk
	type             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	after_id         INTEGER NOT NULL, -- rows up to this id were looked at; 0: a new walk begins
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it.
CREATE INDEX {index:automation_retention_due} ON {automation_retention} (lane, due_on, id) WHERE due_on IS NOT NULL;
