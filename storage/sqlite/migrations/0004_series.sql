-- What recurs. Of each series only the current occurrence has a row in
-- automation_scheduler; this table says how the one behind it is made. See
-- 0001_store.sql for what all tables have in common.
CREATE TABLE {automation_series} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- automation type, setting, source type, source, trigger key, joined by U+001F
	type             TEXT NOT NULL, -- reminder type that serves the occurrences
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL, -- of the occurrences
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	automation_type  TEXT NOT NULL, -- Reminder
	setting          TEXT NOT NULL, -- id of the reminder setting
	source_type      TEXT NOT NULL, -- the entity that it is about, and
	source           TEXT NOT NULL, -- its id
	trigger_key      TEXT NOT NULL,
	created_on       INTEGER,
	business_unit    TEXT NOT NULL,
	input_hash       TEXT NOT NULL, -- of the occurrences to come
	cron             TEXT NOT NULL, -- five fields; empty: rrule
	rrule            TEXT NOT NULL,
	start_date       TEXT NOT NULL, -- 2006-01-02; empty: none
	end_date         TEXT NOT NULL,
	start_time       TEXT NOT NULL, -- 09:00; empty with cron
	time_zone        TEXT NOT NULL, -- IANA name
	gap_policy       TEXT NOT NULL, -- forward, back, skip
	overlap_policy   TEXT NOT NULL, -- first, second
	active           INTEGER NOT NULL, -- it has a current occurrence and goes on
	next_on          INTEGER, -- the current occurrence in UTC; NULL: the cadence has ended
	next_local_date  TEXT NOT NULL, -- what the cadence says for it
	next_local_time  TEXT NOT NULL,
	event_type       TEXT NOT NULL, -- the event that last wrote it; empty: the host
	event_id         TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:automation_series_due} ON {automation_series} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- Active series whose occurrence has come, the longest waiting first: Health
-- looks whether its row exists.
CREATE INDEX {index:automation_series_next} ON {automation_series} (next_on, id) WHERE active;
