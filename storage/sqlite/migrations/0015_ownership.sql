-- Moving work from an old scheduler to this one: which side delivers each run, and
-- how far each part of the work has come. See 0001_store.sql for what all tables have
-- in common.

-- One row for each run of a type under the ownership guard; the key is its
-- SchedulerKey. The old scheduler writes here too, in SQL of its own: see
-- docs/migrating.md. Whoever delivers a run goes from Owned to DeliveryCreated in the
-- transaction that creates the delivery. Never due and never claimed; kept for as
-- long as the old scheduler exists.
CREATE TABLE {report_run_ownership} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	type             TEXT NOT NULL, -- of the run: a reminder type, or a host's automation type
	status           TEXT NOT NULL, -- Owned, DeliveryCreated, Cancelled
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	owner_type       TEXT NOT NULL, -- OldScheduler, AutomationScheduler
	owner_version    INTEGER NOT NULL, -- grows whenever the owner changes
	coordinates      TEXT, -- of the delivery
	business_unit    TEXT NOT NULL,
	setting          TEXT NOT NULL,
	source_type      TEXT NOT NULL,
	source           TEXT NOT NULL,
	scheduled_on     INTEGER, -- NULL: the run was never ensured here
	old_ran_on       INTEGER, -- when the old scheduler delivered it
	run_on           INTEGER, -- scheduled_on, or else old_ran_on
	ended_on         INTEGER, -- NULL while Owned
	stage            INTEGER NOT NULL, -- of the roll-out when it ended here
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:report_run_ownership_due} ON {report_run_ownership} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- The runs of a source that nobody has delivered: events end those in shadow, and
-- moves of the roll-out go through those of a setting.
CREATE INDEX {index:report_run_ownership_open} ON {report_run_ownership} (scope, setting, source_type, source) WHERE ended_on IS NULL;

-- Comparisons and reports go through the runs of a type and a time.
CREATE INDEX {index:report_run_ownership_run} ON {report_run_ownership} (scope, type, run_on, id);

-- One row for each part of the work that was ever moved. Read at each decision about
-- a guarded run, by its key; rarely written.
CREATE TABLE {automation_rollout} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- type, business unit, setting and source, joined by U+001F
	type             TEXT NOT NULL,
	status           TEXT NOT NULL, -- Moving, Settled
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	business_unit    TEXT NOT NULL, -- empty: all
	setting          TEXT NOT NULL, -- empty: all
	source           TEXT NOT NULL, -- empty: all
	stage            INTEGER NOT NULL, -- 0 to 4
	changed_by       TEXT NOT NULL,
	reason           TEXT NOT NULL,
	changed_on       INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:automation_rollout_due} ON {automation_rollout} (lane, due_on, id) WHERE due_on IS NOT NULL;
