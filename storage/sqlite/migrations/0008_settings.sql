-- What people configure: reminder settings, notification settings and business
-- units. See 0001_store.sql for what all tables have in common. These are small
-- tables that people write and every event reads; nothing here is ever due.

-- When and how to remind. The key is the setting's id, which stands in the keys
-- of due work, so a row is switched off and never deleted.
CREATE TABLE {reminder_setting} (
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
	name             TEXT NOT NULL, -- for people
	active           INTEGER NOT NULL,
	business_unit    TEXT NOT NULL, -- empty: all
	document         TEXT NOT NULL, -- offsets, time of sending, thresholds, cadence, template, channels
	saved_on         INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:reminder_setting_due} ON {reminder_setting} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- All settings of a reminder type, which an event of its sources asks for, in the
-- order of their ids.
CREATE INDEX {index:reminder_setting_type} ON {reminder_setting} (scope, type, key);

-- Whether a business unit wants a type of notification, and who hears of it. The
-- key is the notification type, for all units, or type and unit joined by U+001F.
CREATE TABLE {notification_setting} (
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
	business_unit    TEXT NOT NULL, -- empty: all that have no row of their own
	enabled          INTEGER NOT NULL,
	document         TEXT NOT NULL, -- subscribers, channels, template
	saved_on         INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:notification_setting_due} ON {notification_setting} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- A part of a tenant with a zone and a calendar of its own. The key is its id.
CREATE TABLE {business_unit} (
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
	name             TEXT NOT NULL, -- for people
	time_zone        TEXT NOT NULL, -- IANA name
	calendar         TEXT NOT NULL, -- weekend, holidays, shift
	saved_on         INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:business_unit_due} ON {business_unit} (lane, due_on, id) WHERE due_on IS NOT NULL;
