-- Subscriptions to reports. See 0001_store.sql for what all tables have in common.
-- Their runs are rows of automation_scheduler, and which run comes next stands in
-- automation_series, so nothing here is ever due.

-- What somebody has subscribed to. The key is the subscription's guid, which stands
-- in the keys of its runs.
CREATE TABLE {report_subscription} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	type             TEXT NOT NULL, -- the type of report
	status           TEXT NOT NULL, -- Active, Paused, Deactivated
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	business_unit    TEXT NOT NULL, -- fixed: its runs stand for it
	created_on       INTEGER,
	name             TEXT NOT NULL, -- for people
	document         TEXT NOT NULL, -- cadence, recipients, template, delivery, parameters
	saved_on         INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:report_subscription_due} ON {report_subscription} (lane, due_on, id) WHERE due_on IS NOT NULL;

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
