-- Reconciliation: how far the scan of each reminder type has come in each tenant.
-- See 0001_store.sql for what all tables have in common.

-- One row for each reminder type that declares a scan, in each tenant that the
-- scan allows. Claimed once for each page: few rows, rarely written.
CREATE TABLE {automation_reconciliation} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the reminder type's name
	type             TEXT NOT NULL, -- the same
	status           TEXT NOT NULL, -- Ready, Off
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER, -- of the next run, or of its next page
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	watermark        INTEGER, -- NULL before the first run completed
	covered_until    TEXT NOT NULL, -- 2006-01-02: the last due day that a run has covered
	scan_cursor      TEXT NOT NULL, -- where the run under way goes on
	run_report       TEXT, -- of the run under way, so far
	last_report      TEXT, -- of the last completed run
	failure_count    INTEGER NOT NULL, -- pages that failed since the last good one
	reason_code      TEXT NOT NULL, -- of the last failure
	diagnostics      TEXT NOT NULL, -- its error, at most 500 bytes
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it.
CREATE INDEX {index:automation_reconciliation_due} ON {automation_reconciliation} (lane, due_on, id) WHERE due_on IS NOT NULL;
