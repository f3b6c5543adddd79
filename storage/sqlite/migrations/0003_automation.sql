-- Due work and what leads to it: what has to happen when, what recurs, what people
-- configure, and whose runs these are. See 0001_store.sql for what all tables have in
-- common.

-- One row for each piece of due work, under a key that follows from what it is
-- about. Hot: polled, claimed and settled.
CREATE TABLE {automation_scheduler} (
	id                   INTEGER PRIMARY KEY AUTOINCREMENT,
	scope                TEXT NOT NULL,
	key                  TEXT NOT NULL, -- the SchedulerKey
	kind                 TEXT NOT NULL, -- reminder type or automation type that serves it
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
	person               TEXT, -- whom it is about; NULL: nobody has said
	setting              TEXT NOT NULL, -- id of the reminder setting
	source_type          TEXT NOT NULL, -- the entity that it is about, and
	source               TEXT NOT NULL, -- its id
	trigger_key          TEXT NOT NULL,
	target_date          TEXT NOT NULL, -- 2006-01-02 if DateBased; what an occurrence stands for; else empty
	days_before          INTEGER NOT NULL,
	input_hash           TEXT NOT NULL, -- what the row stands for: SHA-256, hex
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
	ended_because        TEXT, -- the host's words; NULL: there are none
	hold_detail          TEXT NOT NULL,
	event_type           TEXT NOT NULL, -- the event that last wrote it; empty: the host
	event_id             TEXT NOT NULL,
	dispatch_result      TEXT, -- coordinates of what it led to
	trace_blob_name      TEXT NOT NULL,
	forgotten_on INTEGER, -- NULL: the row is whole
	erased_on INTEGER, -- NULL: nobody was erased here
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it; finished and held rows leave it, since their due_on is NULL.
CREATE INDEX {index:automation_scheduler_due} ON {automation_scheduler} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- The open rows of a source, which an event compares with what the source asks
-- for now, and those of a whole setting. Every query repeats the predicate.
CREATE INDEX {index:automation_scheduler_source} ON {automation_scheduler} (scope, setting, source_type, source)
	WHERE due_on IS NOT NULL OR is_on_support_hold;

-- What is planned for a person. NULL costs nothing; each query compares, so that it
-- is none of those.
CREATE INDEX {index:automation_scheduler_person} ON {automation_scheduler} (scope, person, scheduled_on, id) WHERE person IS NOT NULL;

-- What waits for a person, by reason.
CREATE INDEX {index:automation_scheduler_holds} ON {automation_scheduler} (hold_reason, id) WHERE is_on_support_hold;
CREATE INDEX {index:automation_scheduler_scope_holds} ON {automation_scheduler} (scope, hold_reason, id) WHERE is_on_support_hold;

-- What has ended without a delivery, by its moment: few rows, and no claim writes these columns.
CREATE INDEX {index:automation_scheduler_withheld} ON {automation_scheduler} (scope, scheduled_on, id)
	WHERE ended_on IS NOT NULL AND reason_code > '';

-- How far the events of each entity have come: the row that every event of the
-- entity writes first, so that an older one cannot undo a newer one.
CREATE TABLE {automation_source} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- source type and id, joined by U+001F
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	source_type      TEXT NOT NULL,
	source           TEXT NOT NULL,
	event_type       TEXT NOT NULL, -- the event that came last
	event_id         TEXT NOT NULL,
	versions         TEXT NOT NULL, -- {stream: the newest that it has shown}
	passed           TEXT, -- requests that came too late to have a row
	UNIQUE (scope, key)
) STRICT;

-- What recurs. Of each series only the current occurrence has a row in
-- automation_scheduler; this table says how the one behind it is made.
CREATE TABLE {automation_series} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- automation type, setting, source type, source, trigger key, joined by U+001F
	kind             TEXT NOT NULL, -- reminder type that serves the occurrences
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL, -- of the occurrences
	automation_type  TEXT NOT NULL, -- Reminder
	setting          TEXT NOT NULL, -- id of the reminder setting
	source_type      TEXT NOT NULL, -- the entity that it is about, and
	source           TEXT NOT NULL, -- its id
	trigger_key      TEXT NOT NULL,
	created_on       INTEGER,
	business_unit    TEXT NOT NULL,
	person           TEXT, -- whom they are about; NULL: nobody has said
	input_hash       TEXT NOT NULL, -- of the occurrences to come
	cron             TEXT NOT NULL, -- five fields; empty: rrule
	rrule            TEXT NOT NULL,
	start_date       TEXT NOT NULL, -- 2006-01-02; empty: none
	end_date         TEXT NOT NULL,
	except_dates     TEXT NOT NULL, -- days that are left out, 2006-01-02,…
	start_time       TEXT NOT NULL, -- 09:00; empty with cron
	time_zone        TEXT NOT NULL, -- IANA name
	gap_policy       TEXT NOT NULL, -- forward, back, skip
	overlap_policy   TEXT NOT NULL, -- first, second
	active           INTEGER NOT NULL, -- it has a current occurrence and goes on
	next_on          INTEGER, -- the current occurrence in UTC; NULL: the cadence has ended
	next_local_date  TEXT NOT NULL, -- what the cadence says for it
	next_local_time  TEXT NOT NULL,
	next_period      TEXT NOT NULL,
	past_period      TEXT NOT NULL,
	event_type       TEXT NOT NULL, -- the event that last wrote it; empty: the host
	event_id         TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- Active series whose occurrence has come, the longest waiting first: Health
-- looks whether its row exists.
CREATE INDEX {index:automation_series_next} ON {automation_series} (next_on, id) WHERE active;

-- The same in one tenant: what is expected in a span of time.
CREATE INDEX {index:automation_series_scope_next} ON {automation_series} (scope, next_on, id) WHERE active;

-- What the last reading of each threshold condition said.

-- One row for each condition of each source, written in the transaction of the
-- event that measured it. It is the memory of the policy FalseToTrue: rises are
-- counted here, and the number stands in the key of the due work.
CREATE TABLE {threshold_state} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- setting, source type, source, trigger key, metric, value, scope, joined by U+001F
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	met              INTEGER NOT NULL, -- what the last reading said
	rises            INTEGER NOT NULL, -- from not met to met, the first reading included
	source_version   INTEGER NOT NULL, -- of the last reading; 0: the source has no versions
	stream           TEXT NOT NULL, -- what it counts
	comparison       TEXT NOT NULL, -- AtLeast, MoreThan, AtMost, LessThan
	value            TEXT NOT NULL, -- what the reading was compared with
	reading          TEXT NOT NULL, -- decimal
	UNIQUE (scope, key)
) STRICT;

-- Reconciliation: how far the scan of each reminder type has come in each tenant.

-- One row for each reminder type that declares a scan, in each tenant that the
-- scan allows. Claimed once for each page: few rows, rarely written.
CREATE TABLE {automation_reconciliation} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the reminder type's name, or what is re-planned
	kind             TEXT NOT NULL, -- the same
	status           TEXT NOT NULL, -- Ready, Off
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER, -- of the next run, or of its next page
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	skipped_on       INTEGER, -- since when there are sources that could not be planned; NULL: there are none
	watermark        INTEGER, -- NULL before the first run completed
	covered_until    TEXT NOT NULL, -- 2006-01-02: the last due day that a run has covered
	scan_cursor      TEXT NOT NULL, -- where the run under way goes on
	run_report       TEXT, -- of the run under way, so far
	last_report      TEXT, -- of the last completed run
	skipped          TEXT, -- the sources that could not be planned
	failure_count    INTEGER NOT NULL, -- pages that failed since the last good one
	reason_code      TEXT NOT NULL, -- of the last failure
	diagnostics      TEXT NOT NULL, -- its error, at most 500 bytes
	marked_on        INTEGER, -- of a re-plan: when it was last asked for; NULL in a scan
	reminder_type    TEXT NOT NULL, -- what the re-plan is about; empty: every type, setting, unit
	setting          TEXT NOT NULL,
	business_unit    TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it.
CREATE INDEX {index:automation_reconciliation_due} ON {automation_reconciliation} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- Health names the scans that skip sources.
CREATE INDEX {index:automation_reconciliation_skipped} ON {automation_reconciliation} (skipped_on, id) WHERE skipped_on IS NOT NULL;

-- What support has paused.

-- One row for each part of the work that was ever paused, resumed ones included,
-- so that its versions go on and the audit tells of each. Every claim of due work
-- reads those that are in force: there are a handful.
CREATE TABLE {automation_pause} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL, -- empty as well if it is everywhere
	key              TEXT NOT NULL, -- all, type:X, everywhere:all, everywhere:type:X
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL, -- Paused, Resumed
	version          INTEGER NOT NULL,
	everywhere       INTEGER NOT NULL, -- in every scope
	paused_type      TEXT NOT NULL, -- empty: all types
	paused_by        TEXT NOT NULL,
	reason           TEXT NOT NULL,
	paused_on        INTEGER,
	paused_until     INTEGER, -- NULL: until somebody resumes it
	UNIQUE (scope, key)
) STRICT;

-- What people configure: reminder settings, notification settings and business units.
-- These are small tables that people write and every event reads; nothing here is
-- ever due.

-- When and how to remind. The key is the setting's id, which stands in the keys
-- of due work, so a row is switched off and never deleted.
CREATE TABLE {reminder_setting} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	name             TEXT NOT NULL, -- for people
	active           INTEGER NOT NULL,
	business_unit    TEXT NOT NULL, -- empty: all
	document         TEXT NOT NULL, -- offsets, time of sending, thresholds, cadence, template, channels
	saved_on         INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- All settings of a reminder type, which an event of its sources asks for, in the
-- order of their ids.
CREATE INDEX {index:reminder_setting_type} ON {reminder_setting} (scope, kind, key);

-- Whether a business unit wants a type of notification, and who hears of it. The
-- key is the notification type, for all units, or type and unit joined by U+001F.
CREATE TABLE {notification_setting} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	business_unit    TEXT NOT NULL, -- empty: all that have no row of their own
	enabled          INTEGER NOT NULL,
	document         TEXT NOT NULL, -- subscribers, channels, template
	saved_on         INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- A part of a tenant with a zone and a calendar of its own. The key is its id.
CREATE TABLE {business_unit} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	name             TEXT NOT NULL, -- for people
	time_zone        TEXT NOT NULL, -- IANA name
	calendar         TEXT NOT NULL, -- weekend, holidays, shift
	saved_on         INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Subscriptions to reports. Their runs are rows of automation_scheduler, and which
-- run comes next stands in automation_series, so nothing here is ever due.

-- What somebody has subscribed to. The key is the subscription's guid, which stands
-- in the keys of its runs.
CREATE TABLE {report_subscription} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	kind             TEXT NOT NULL, -- the type of report
	status           TEXT NOT NULL, -- Active, Paused, Deactivated
	version          INTEGER NOT NULL,
	business_unit    TEXT NOT NULL, -- fixed: its runs stand for it
	created_on       INTEGER,
	name             TEXT NOT NULL, -- for people
	document         TEXT NOT NULL, -- cadence, recipients, template, delivery, parameters
	saved_on         INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- The runs of a subscription by their moment, which people list. Partial, so that
-- reminders pay nothing for it; every query repeats the predicate.
CREATE INDEX {index:automation_scheduler_runs} ON {automation_scheduler} (scope, source, scheduled_on, id)
	WHERE automation_type = 'ReportSubscription';

-- The runs of all subscriptions of a tenant, likewise.
CREATE INDEX {index:automation_scheduler_recent} ON {automation_scheduler} (scope, scheduled_on, id)
	WHERE automation_type = 'ReportSubscription';

-- Those of them that wait for a person, which are few among many that have ended.
CREATE INDEX {index:automation_scheduler_failed} ON {automation_scheduler} (scope, scheduled_on, id)
	WHERE automation_type = 'ReportSubscription' AND is_on_support_hold;

-- Moving work from an old scheduler to this one: which side delivers each run, and
-- how far each part of the work has come.

-- One row for each run of a type under the ownership guard; the key is its
-- SchedulerKey. The old scheduler writes here too, in SQL of its own: see
-- docs/migrating.md. Whoever delivers a run goes from Owned to DeliveryCreated in the
-- transaction that creates the delivery. Never due and never claimed; kept for as
-- long as the old scheduler exists.
CREATE TABLE {report_run_ownership} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	kind             TEXT NOT NULL, -- of the run: a reminder type, or a host's automation type
	status           TEXT NOT NULL, -- Owned, DeliveryCreated, Cancelled
	version          INTEGER NOT NULL,
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

-- The runs of a source that nobody has delivered: events end those in shadow, and
-- moves of the roll-out go through those of a setting.
CREATE INDEX {index:report_run_ownership_open} ON {report_run_ownership} (scope, setting, source_type, source) WHERE ended_on IS NULL;

-- Comparisons and reports go through the runs of a type and a time.
CREATE INDEX {index:report_run_ownership_run} ON {report_run_ownership} (scope, kind, run_on, id);

-- One row for each part of the work that was ever moved. Read at each decision about
-- a guarded run, by its key; rarely written.
CREATE TABLE {automation_rollout} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- type, business unit and source, joined by U+001F
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL, -- Moving, Settled
	version          INTEGER NOT NULL,
	business_unit    TEXT NOT NULL, -- empty: all
	source           TEXT NOT NULL, -- empty: all
	stage            INTEGER NOT NULL, -- 0 to 4
	changed_by       TEXT NOT NULL,
	reason           TEXT NOT NULL,
	changed_on       INTEGER,
	UNIQUE (scope, key)
) STRICT;
