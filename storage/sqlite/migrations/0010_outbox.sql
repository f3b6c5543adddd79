-- Events on their way to subscribers outside. See 0001_store.sql for what all tables
-- have in common.

-- Something that has happened: written once, never due.
CREATE TABLE {outbox_event} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the event's id
	type             TEXT NOT NULL, -- the topic
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	payload          TEXT NOT NULL,
	created_on       INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:outbox_event_due} ON {outbox_event} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- Who wants which topic, for all tenants. A handful of rows.
CREATE TABLE {outbox_subscription} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- topic and subscriber, joined by U+001F
	type             TEXT NOT NULL, -- the subscriber
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	topic            TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:outbox_subscription_due} ON {outbox_subscription} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- One event on its way to one subscriber. Hot: polled, claimed and settled.
CREATE TABLE {outbox_delivery} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- event and subscriber, joined by U+001F
	type             TEXT NOT NULL, -- the subscriber
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	event_key        TEXT NOT NULL,
	topic            TEXT NOT NULL,
	created_on       INTEGER,
	attempts         INTEGER NOT NULL,
	diagnostics      TEXT NOT NULL, -- the last error, at most 500 bytes
	dispatched_on    INTEGER,
	dead_on          INTEGER, -- NULL unless it is a dead letter
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it; what is done leaves it, since its due_on is NULL.
CREATE INDEX {index:outbox_delivery_due} ON {outbox_delivery} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- The dead letters, which people list and replay.
CREATE INDEX {index:outbox_delivery_dead} ON {outbox_delivery} (scope, id) WHERE dead_on IS NOT NULL;
