-- What the gates before a provider call know: what is paused, what recipients want,
-- what was counted; and the key under which recipients are hashed. See
-- 0001_store.sql for what all tables have in common.

-- One row for each part of the sending that was ever paused, resumed ones included,
-- so that its versions go on and the audit tells of each. Every claim of messages
-- reads those that are in force: there are a handful.
CREATE TABLE {notification_pause} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL, -- empty as well if it is everywhere
	key              TEXT NOT NULL, -- all, type:X, channel:X; everywhere: before it
	type             TEXT NOT NULL, -- the channel; empty: all
	status           TEXT NOT NULL, -- Paused, Resumed
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	everywhere       INTEGER NOT NULL, -- in every scope
	paused_type      TEXT NOT NULL, -- of notification; empty: all
	paused_by        TEXT NOT NULL,
	reason           TEXT NOT NULL,
	paused_on        INTEGER,
	paused_until     INTEGER, -- NULL: until somebody resumes it
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:notification_pause_due} ON {notification_pause} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- What recipients want, and do not want, by type and method. A recipient's rows are a
-- range of the unique key.
CREATE TABLE {recipient_preference} (
	id                INTEGER PRIMARY KEY AUTOINCREMENT,
	scope             TEXT NOT NULL,
	key               TEXT NOT NULL, -- recipient, method and type, joined by U+001F
	type              TEXT NOT NULL,
	status            TEXT NOT NULL,
	version           INTEGER NOT NULL,
	lane              INTEGER NOT NULL,
	due_on            INTEGER,
	lease_expires_on  INTEGER,
	claim_token       TEXT NOT NULL,
	abandoned         INTEGER NOT NULL,
	recipient_ref     TEXT NOT NULL, -- the host's id; empty: the key has a hash of the address
	notification_type TEXT NOT NULL, -- empty: all
	method            TEXT NOT NULL, -- empty: all
	opted_out         INTEGER NOT NULL,
	changed_on        INTEGER,
	message_id        TEXT NOT NULL, -- whose unsubscribe link said so; empty: the host
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:recipient_preference_due} ON {recipient_preference} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- What each recipient has got of late, as far as a frequency cap looks: one row that
-- every message to the recipient writes, and nothing reads but by its key.
CREATE TABLE {recipient_frequency} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the recipient
	type             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	messages         TEXT NOT NULL, -- ids and times, the oldest first
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:recipient_frequency_due} ON {recipient_frequency} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- What was taken of the rate of a channel, for all processes: the row that every group
-- of messages of that channel writes.
CREATE TABLE {rate_bucket} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL, -- empty: all scopes share it
	key              TEXT NOT NULL, -- the channel
	type             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	taken_until      INTEGER, -- when the bucket is full again
	promised_until   INTEGER, -- when the last message that waits comes back
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:rate_bucket_due} ON {rate_bucket} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- Attempts that a rate has let through, so that one that is asked about again, after a
-- crash, is not counted again. Insert only; deleted after an hour.
CREATE TABLE {rate_reservation} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- channel, message id and number of the attempt, joined by U+001F
	type             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	reserved_on      INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:rate_reservation_due} ON {rate_reservation} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- What is old enough to be deleted.
CREATE INDEX {index:rate_reservation_reserved} ON {rate_reservation} (scope, reserved_on);

-- Under which key recipients are hashed: one row.
CREATE TABLE {recipient_hash_key} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	type             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	fingerprint      TEXT NOT NULL, -- of the key; empty: a plain hash
	former           TEXT NOT NULL, -- fingerprints that lists are still known under
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:recipient_hash_key_due} ON {recipient_hash_key} (lane, due_on, id) WHERE due_on IS NOT NULL;
