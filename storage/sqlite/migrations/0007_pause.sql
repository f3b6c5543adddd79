-- What support has paused. See 0001_store.sql for what all tables have in common.

-- One row for each part of the work that was ever paused, resumed ones included,
-- so that its versions go on and the audit tells of each. Every claim of due work
-- reads those that are in force: there are a handful.
CREATE TABLE {automation_pause} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL, -- empty as well if it is everywhere
	key              TEXT NOT NULL, -- all, type:X, everywhere:all, everywhere:type:X
	type             TEXT NOT NULL,
	status           TEXT NOT NULL, -- Paused, Resumed
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	everywhere       INTEGER NOT NULL, -- in every scope
	paused_type      TEXT NOT NULL, -- empty: all types
	paused_by        TEXT NOT NULL,
	reason           TEXT NOT NULL,
	paused_on        INTEGER,
	paused_until     INTEGER, -- NULL: until somebody resumes it
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:automation_pause_due} ON {automation_pause} (lane, due_on, id) WHERE due_on IS NOT NULL;
