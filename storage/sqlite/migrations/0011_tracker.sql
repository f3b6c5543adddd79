-- What providers report about messages, and whom nothing more is sent to. See
-- 0001_store.sql for what all tables have in common.

-- A callback finds its message by the id that we gave it.
CREATE INDEX {index:outgoing_message_message_id} ON {outgoing_message} (message_id);

-- What providers reported about messages: each event once, also those whose message
-- is not known yet, which are due until it is. Rows are the memory by which a
-- repeated callback is known, and are deleted a month after they came. An event
-- belongs to no tenant until its message is found, so the scope is empty. One more
-- row, with the status Sweep, is due each hour and deletes what is old.
CREATE TABLE {delivery_event} (
	id                  INTEGER PRIMARY KEY AUTOINCREMENT,
	scope               TEXT NOT NULL,
	key                 TEXT NOT NULL, -- provider and a hash of its event id
	type                TEXT NOT NULL, -- the provider
	status              TEXT NOT NULL, -- Matched, Waiting, Orphan; Sweep
	version             INTEGER NOT NULL,
	lane                INTEGER NOT NULL,
	due_on              INTEGER,
	lease_expires_on    INTEGER,
	claim_token         TEXT NOT NULL,
	abandoned           INTEGER NOT NULL,
	kind                TEXT NOT NULL, -- Accepted, Failed, Delivered, ...
	message_id          TEXT NOT NULL, -- ours, where the provider gave it back
	provider_message_id TEXT NOT NULL,
	code                TEXT NOT NULL, -- the provider's, of a failure
	lasting             INTEGER NOT NULL,
	happened_on         INTEGER,
	received_on         INTEGER,
	tries               INTEGER NOT NULL, -- how often its message was looked for in vain
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it: events whose message is not known yet, and the hourly sweep.
CREATE INDEX {index:delivery_event_due} ON {delivery_event} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- By which id a provider knows a message, for channels whose callbacks do not bring
-- our own id back. Insert only; deleted like delivery_event. The id was handed out
-- by the provider, so the scope is empty.
CREATE TABLE {message_receipt} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- provider and a hash of its message id
	type             TEXT NOT NULL, -- the provider
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	message_id       TEXT NOT NULL, -- of outgoing_message
	created_on       INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:message_receipt_due} ON {message_receipt} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- What happened to a message beside its status: it bounced, its recipient complained
-- or unsubscribed. Insert only, and kept as long as the message. The key begins with
-- the message's id, so that its facts are one range.
CREATE TABLE {delivery_fact} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- message id, provider and a hash of its event id
	type             TEXT NOT NULL, -- the kind: Bounced, Complained, Unsubscribed
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	provider         TEXT NOT NULL,
	code             TEXT NOT NULL,
	lasting          INTEGER NOT NULL,
	happened_on      INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:delivery_fact_due} ON {delivery_fact} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- Addresses to which nothing more is sent, or nothing but what is mandatory. There is
-- no address here, only its hash under the host's key.
CREATE TABLE {suppression} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- address hash and reason
	type             TEXT NOT NULL, -- the delivery method
	status           TEXT NOT NULL, -- Active, or Lifted by a person
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	address_hash     TEXT NOT NULL,
	hash_key         TEXT NOT NULL, -- fingerprint of the key that it was made with
	reason           TEXT NOT NULL, -- HardBounce, Complaint, Unsubscribe
	since            INTEGER,
	source           TEXT NOT NULL, -- the provider that said so, or Support
	message_id       TEXT NOT NULL, -- that it was said about
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:suppression_due} ON {suppression} (lane, due_on, id) WHERE due_on IS NOT NULL;
