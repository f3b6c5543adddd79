-- Surveys: definitions, links, responses. See 0001_store.sql for what all tables have
-- in common.

-- A survey, and which version of it is published. Never due.
CREATE TABLE {survey} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the host's id, in 19 digits
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	survey_id        INTEGER NOT NULL,
	name             TEXT NOT NULL,
	integration_id   TEXT NOT NULL,
	business_unit    TEXT NOT NULL,
	latest_version   INTEGER NOT NULL,
	content_hash     TEXT NOT NULL, -- of the latest version
	published_version INTEGER NOT NULL, -- 0: none
	saved_on         INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- A published version: written once, never due.
CREATE TABLE {survey_version} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- survey and number, each in 19 digits, joined by a colon
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	survey_id        INTEGER NOT NULL,
	number           INTEGER NOT NULL,
	name             TEXT NOT NULL,
	integration_id   TEXT NOT NULL,
	business_unit    TEXT NOT NULL,
	content_hash     TEXT NOT NULL, -- hex of SHA-256
	definition       TEXT NOT NULL,
	published_on     INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- A trigger of a published version. Never due.
CREATE TABLE {survey_trigger} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- survey and trigger, joined by U+001F
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	survey_id        INTEGER NOT NULL,
	trigger_id       TEXT NOT NULL,
	event_kind       TEXT NOT NULL, -- empty: not in use
	link_key         TEXT NOT NULL, -- of an open link: id of the key that its token is made with
	link_hash        TEXT NOT NULL, -- of an open link: hex of the SHA-256 of the token
	version_number   INTEGER NOT NULL,
	content_hash     TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- Ingest finds those that an event concerns.
CREATE INDEX {index:survey_trigger_kind} ON {survey_trigger} (scope, event_kind, id);

-- The form finds open links, whose tenant it does not know.
CREATE INDEX {index:survey_trigger_link} ON {survey_trigger} (link_hash);

-- One link for one customer. Hot: polled, claimed and settled.
CREATE TABLE {survey_instance} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- survey, trigger and unique_hash, joined by colons
	kind             TEXT NOT NULL, -- survey while it is due for a send, else empty
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	public_id        TEXT NOT NULL, -- opens nothing
	link_key         TEXT NOT NULL, -- id of the key that the token is made with
	link_hash        TEXT NOT NULL, -- hex of the SHA-256 of the token
	survey_id        INTEGER NOT NULL,
	survey_version   INTEGER NOT NULL,
	business_unit    TEXT NOT NULL,
	trigger_id       TEXT NOT NULL,
	triggered_on     INTEGER,
	triggered_by     TEXT NOT NULL,
	metadata         TEXT NOT NULL, -- the payload of the event
	customer_ref     TEXT NOT NULL,
	contact_group    text NOT NULL,
	channel          TEXT NOT NULL,
	recipient_address TEXT NOT NULL,
	recipient_locale TEXT NOT NULL,
	recipient_zone   TEXT NOT NULL, -- an IANA name, or empty
	recipient_hash   TEXT, -- of an address without a customer_ref, in any spelling
	unique_hash      TEXT NOT NULL, -- hex of SHA-256
	created_on       INTEGER,
	next_send_on     INTEGER,
	next_try_on      INTEGER, -- a failed or deferred send waits until then
	last_sent_on     INTEGER,
	reminders_remaining INTEGER NOT NULL,
	send_ordinal     INTEGER NOT NULL, -- 0: the initial send
	calls            INTEGER NOT NULL,
	tries            INTEGER NOT NULL,
	call_started_on  INTEGER,
	in_doubt         INTEGER NOT NULL, -- nobody knows whether that call sent
	queued           INTEGER NOT NULL, -- its present send is a message that has not ended
	attempts         INTEGER NOT NULL, -- messages that were made for the present send
	first_message    TEXT NOT NULL, -- the message_id of the initial send
	stopped_on       INTEGER,
	expires_on       INTEGER,
	opened_on        INTEGER,
	completed_on     INTEGER,
	ended_on         INTEGER,
	deleted_on       INTEGER,
	repeat_key       TEXT NOT NULL, -- of an anonymous response: hash of the host's idempotency key
	reason_code      TEXT NOT NULL,
	is_on_support_hold INTEGER NOT NULL,
	forgotten_on INTEGER, -- NULL: the row is whole
	erased_on INTEGER, -- NULL: nobody was erased here
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it.
CREATE INDEX {index:survey_instance_due} ON {survey_instance} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- A customer's link is looked up by its token's hash.
CREATE INDEX {index:survey_instance_link} ON {survey_instance} (link_hash);

-- Hosts and the log know an instance by its public id.
CREATE INDEX {index:survey_instance_public} ON {survey_instance} (public_id, scope);

-- The instances of a customer.
CREATE INDEX {index:survey_instance_customer} ON {survey_instance} (scope, customer_ref, id);

-- The instances of an address, where there is no customer_ref.
CREATE INDEX {index:survey_instance_recipient} ON {survey_instance} (scope, recipient_hash, id) WHERE recipient_hash IS NOT NULL;

-- The instances on hold, which health counts.
CREATE INDEX {index:survey_instance_holds} ON {survey_instance} (id) WHERE is_on_support_hold;

-- The log of sends: written once, never due.
CREATE TABLE {survey_delivery} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the instance's public id and the version it was saved with, joined by a colon
	kind             TEXT NOT NULL, -- the channel
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	public_id        TEXT NOT NULL,
	attempt          INTEGER NOT NULL, -- 0: no call was made
	ordinal          INTEGER NOT NULL,
	started_on       INTEGER,
	at               INTEGER,
	provider_message_id TEXT NOT NULL,
	reason_code      TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- The log of one instance.
CREATE INDEX {index:survey_delivery_public} ON {survey_delivery} (scope, public_id, id);

-- The one response to an instance: written once, never due.
CREATE TABLE {survey_response} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the instance's public id
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	survey_id        INTEGER NOT NULL,
	survey_version   INTEGER NOT NULL,
	trigger_id       TEXT NOT NULL,
	business_unit    TEXT NOT NULL,
	customer_ref     TEXT NOT NULL,
	agent_id         TEXT NOT NULL,
	locale           TEXT NOT NULL, -- that the form was filled in in
	answers_hash     TEXT NOT NULL,
	idempotency_key  TEXT NOT NULL, -- hash of the host's
	answers          TEXT NOT NULL,
	completed_on     INTEGER,
	submitted_on     INTEGER,
	score            INTEGER NOT NULL, -- the lowest rating, 0 to 100; 101: none
	unhappy          INTEGER NOT NULL, -- its version calls it so: it is in the worklist
	queue            TEXT NOT NULL, -- of the worklist
	assignee         TEXT NOT NULL, -- who deals with it; empty: nobody
	handled_on       INTEGER,
	handled_by       TEXT NOT NULL,
	note             TEXT NOT NULL,
	dimensions       TEXT NOT NULL, -- values of its link's dimensions
	UNIQUE (scope, key)
) STRICT;

-- The worklist: what is not handled, the newest first, and what was, the last one first.
CREATE INDEX {index:survey_response_work} ON {survey_response} (scope, unhappy, submitted_on, id, queue, survey_id) WHERE handled_on IS NULL;
CREATE INDEX {index:survey_response_handled} ON {survey_response} (scope, handled_on, id, survey_id) WHERE handled_on IS NOT NULL;

-- Lists and exports walk the responses to a survey, or those of a span of time.
CREATE INDEX {index:survey_response_survey} ON {survey_response} (scope, survey_id, submitted_on, id);

-- One answer, for SQL of the host's own: written once, never due.
CREATE TABLE {survey_answer} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the instance's public id and the question, joined by U+001F
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	public_id        TEXT NOT NULL,
	survey_id        INTEGER NOT NULL,
	question_id      TEXT NOT NULL,
	value            TEXT NOT NULL,
	submitted_on     INTEGER, -- that of the response
	UNIQUE (scope, key)
) STRICT;

-- The answers of one response.
CREATE INDEX {index:survey_answer_public} ON {survey_answer} (scope, public_id, id);

-- The key that the links of a tenant are made with, where the host keeps none. Never due.
CREATE TABLE {survey_link_key} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- always the same
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	secret           BLOB NOT NULL,
	created_on       INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- What was counted of a survey under a value of a dimension, in a day or a month. Never due.
CREATE TABLE {survey_result} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- survey in 19 digits, dimension, period, unit, value, joined by U+001F; the head: the survey alone
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	survey_id        INTEGER NOT NULL,
	business_unit    TEXT NOT NULL,
	dimension        TEXT NOT NULL, -- empty: all
	period           TEXT NOT NULL, -- d2026-05-14 or m2026-05
	value            TEXT NOT NULL,
	counts           TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- What is not counted yet: written once, deleted with the next poll, never due.
CREATE TABLE {survey_result_entry} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the instance's public id and what happened, joined by a colon
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	survey_id        INTEGER NOT NULL,
	fact             TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;
