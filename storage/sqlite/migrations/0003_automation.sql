-- Due work: what has to happen when, how far the events of each source have come,
-- and what support did. See 0001_store.sql for what all tables have in common.

-- One row for each piece of due work, under a key that follows from what it is
-- about. Hot: polled, claimed and settled.
CREATE TABLE {automation_scheduler} (
	id                   INTEGER PRIMARY KEY AUTOINCREMENT,
	scope                TEXT NOT NULL,
	key                  TEXT NOT NULL, -- the SchedulerKey
	type                 TEXT NOT NULL, -- reminder type or automation type that serves it
	status               TEXT NOT NULL,
	version              INTEGER NOT NULL,
	lane                 INTEGER NOT NULL,
	due_on               INTEGER,
	lease_expires_on     INTEGER,
	claim_token          TEXT NOT NULL,
	abandoned            INTEGER NOT NULL,
	automation_type      TEXT NOT NULL, -- Reminder, or a type that a host added
	trigger_type         TEXT NOT NULL, -- DateBased, ScheduledRun
	business_unit        TEXT NOT NULL,
	setting              TEXT NOT NULL, -- id of the reminder setting
	source_type          TEXT NOT NULL, -- the entity that it is about, and
	source               TEXT NOT NULL, -- its id
	trigger_key          TEXT NOT NULL,
	target_date          TEXT NOT NULL, -- 2006-01-02; empty unless DateBased
	days_before          INTEGER NOT NULL,
	input_hash           TEXT NOT NULL, -- what the row stands for: SHA-256, hex
	fingerprint          INTEGER NOT NULL DEFAULT 0, -- of what it was when it was ensured: 64 bits of SHA-256; 0: not known
	created_on           INTEGER,
	scheduled_on         INTEGER, -- the moment in UTC; how it came about:
	scheduled_local_date TEXT NOT NULL, -- 2006-01-02
	send_at              TEXT NOT NULL, -- 09:00
	time_zone            TEXT NOT NULL, -- IANA name
	gap_policy           TEXT NOT NULL, -- forward, back, skip
	overlap_policy       TEXT NOT NULL, -- first, second
	next_retry_on        INTEGER, -- NULL unless a retry waits
	retry_count          INTEGER NOT NULL,
	lease_loss_count     INTEGER NOT NULL,
	ended_on             INTEGER, -- NULL while the row is open
	reason_code          TEXT NOT NULL, -- of the last failure or the end
	diagnostics          TEXT NOT NULL, -- the last error, at most 500 bytes
	is_on_support_hold   INTEGER NOT NULL, -- never due until a person releases it
	hold_reason          TEXT NOT NULL,
	hold_detail          TEXT NOT NULL,
	event_type           TEXT NOT NULL, -- the event that last wrote it; empty: the host
	event_id             TEXT NOT NULL,
	dispatch_result      TEXT, -- coordinates of what it led to
	trace_blob_name      TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it; finished and held rows leave it, since their due_on is NULL.
CREATE INDEX {index:automation_scheduler_due} ON {automation_scheduler} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- The open rows of a source, which an event compares with what the source asks
-- for now, and those of a whole setting. Every query repeats the predicate.
CREATE INDEX {index:automation_scheduler_source} ON {automation_scheduler} (scope, setting, source_type, source)
	WHERE due_on IS NOT NULL OR is_on_support_hold;

-- What waits for a person, by reason.
CREATE INDEX {index:automation_scheduler_holds} ON {automation_scheduler} (hold_reason, id) WHERE is_on_support_hold;

-- How far the events of each entity have come: the row that every event of the
-- entity writes first, so that an older one cannot undo a newer one.
CREATE TABLE {automation_source} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- source type and id, joined by U+001F
	type             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	source_type      TEXT NOT NULL,
	source           TEXT NOT NULL,
	source_version   INTEGER NOT NULL, -- 0: the source has no versions
	event_type       TEXT NOT NULL, -- the event that came last
	event_id         TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:automation_source_due} ON {automation_source} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- What people did to rows of any table, and why. Insert only. The entries of a
-- row are a range of the unique key, in the order of the row's versions.
CREATE TABLE {audit_entry} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- subject, its key and version, joined by U+001F
	type             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	subject          TEXT NOT NULL, -- the table of the row that was changed
	subject_key      TEXT NOT NULL, -- its key
	subject_version  INTEGER NOT NULL, -- the version that the change gave it
	action           TEXT NOT NULL, -- Hold, Release, Retry, Cancel
	actor            TEXT NOT NULL,
	reason           TEXT NOT NULL,
	from_status      TEXT NOT NULL,
	to_status        TEXT NOT NULL,
	done_on          INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:audit_entry_due} ON {audit_entry} (lane, due_on, id) WHERE due_on IS NOT NULL;
