-- What the last reading of each threshold condition said. See 0001_store.sql for
-- what all tables have in common.

-- One row for each condition of each source, written in the transaction of the
-- event that measured it. It is the memory of the policy FalseToTrue: rises are
-- counted here, and the number stands in the key of the due work.
CREATE TABLE {threshold_state} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- setting, source type, source, trigger key, metric, value, scope, joined by U+001F
	type             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	met              INTEGER NOT NULL, -- what the last reading said
	rises            INTEGER NOT NULL, -- from not met to met, the first reading included
	source_version   INTEGER NOT NULL, -- of the last reading; 0: the source has no versions
	comparison       TEXT NOT NULL, -- AtLeast, MoreThan, AtMost, LessThan
	value            TEXT NOT NULL, -- what the reading was compared with
	reading          TEXT NOT NULL, -- decimal
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:threshold_state_due} ON {threshold_state} (lane, due_on, id) WHERE due_on IS NOT NULL;
