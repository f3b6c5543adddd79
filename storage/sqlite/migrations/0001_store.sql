-- The tables that a store has for itself. Migrations are forward only, and never
-- edited once released: their checksums are recorded. A name in braces stands for
-- the prefixed name of that table or, after "index:", of that index.
--
-- Every table has the columns of storage.Record, and:
--   UNIQUE (scope, key)  the business identity: Ensure inserts ON CONFLICT on it,
--                        and it is the only unique constraint beside the primary
--                        key, or an insert could end a host's transaction;
--   the due index        if its rows are due at times (driver.Due):
--                        (lane, due_on, id) WHERE due_on IS NOT NULL. Polls walk
--                        it lane by lane, and finished rows leave it.
-- No index may touch status, version, lease_expires_on, claim_token or abandoned,
-- in its columns or predicate: claims write those, and would write the index too.
-- AUTOINCREMENT, since the id of a deleted row must not be given again: an old
-- copy of it would pass for the new row. Tables are STRICT, so that a column holds
-- what its type says. Instants are integers, microseconds since 1970 in UTC: as
-- text, 10:00+02:00 would sort after 09:00:01+00:00. Booleans are 0 or 1. Text
-- compares byte by byte (BINARY).

-- One row for each blob. due_on is the moment at which a blob that nobody owns may be
-- removed; it is NULL once a row does.
CREATE TABLE {blob} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- generated name
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	size             INTEGER NOT NULL, -- bytes
	sha256           TEXT NOT NULL,    -- lower-case hex of the content
	complete         INTEGER NOT NULL, -- all chunks are written
	kept_until       INTEGER,          -- until when it stays, whoever owns it
	UNIQUE (scope, key)
) STRICT;

-- Collecting unreferenced blobs walks it.
CREATE INDEX {index:blob_due} ON {blob} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- Which rows own a blob, since they name it.
CREATE TABLE {blob_owner} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL, -- that of blobs
	key              TEXT NOT NULL, -- the blob's name and owner, joined by /
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	owner            TEXT NOT NULL, -- digest of the three that follow
	owner_scope      TEXT NOT NULL,
	owner_table      TEXT NOT NULL,
	owner_key        TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- What a row owns, when it goes.
CREATE INDEX {index:blob_owner_owner} ON {blob_owner} (scope, owner, id);

-- The content of blobs in pieces of at most 1 MiB, unless it is kept in a folder.
-- Written once, read in the order of the key (name/number).
CREATE TABLE {blob_chunk} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	data             BLOB NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- One row that says which database this is, so that a copy can be told from it.
CREATE TABLE {store_identity} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- always 'store'
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	environment      TEXT NOT NULL, -- the first name that a host gave it
	system           TEXT NOT NULL, -- empty: a file is not tied to a server
	loss_from        INTEGER, -- the first acknowledged commit that is known to be gone
	loss_until       INTEGER, -- the last one
	loss_noticed_on  INTEGER,
	loss_released_on INTEGER, -- a person lets the work go on
	UNIQUE (scope, key)
) STRICT;

-- How far the pass that forgets old rows has come: one row for each table that is ever
-- pruned, and one that says whether the database was new when the pass first saw it.
CREATE TABLE {retention} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the table; database
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL, -- Ready; New, Existing
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER, -- when to go on
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	after_id         INTEGER NOT NULL, -- rows up to this id were looked at; 0: a new walk begins
	kept_for         INTEGER NOT NULL, -- seconds, as it was announced
	announced_on     INTEGER, -- nothing goes for a week from here on
	begun_on         INTEGER,
	finished_on      INTEGER,
	stubs            INTEGER NOT NULL, -- made by this walk, or the last one
	deleted          INTEGER NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- The pass looks at it once a minute.
CREATE INDEX {index:retention_due} ON {retention} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- Who serves a kind of rows of a table: a type, or a channel that a process has, or that
-- rows wait for in vain. Never due.
CREATE TABLE {served_kind} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- table and kind, joined by U+001F
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	served_on        INTEGER, -- a process that serves it looked for due rows
	missed_since     INTEGER, -- others have seen rows wait for it
	missed_on        INTEGER, -- the last time
	UNIQUE (scope, key)
) STRICT;

-- Who was erased, or is about to be: one row for each wish, without the person once it
-- is done.
CREATE TABLE {erasure} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- random
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL, -- Open, Landing, Done
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER, -- when to go on
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	person           TEXT NOT NULL, -- empty once it is done
	progress         TEXT NOT NULL, -- how far it has come, and what it found
	begun_on         INTEGER,
	ended_on         INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- The pass looks at it once a minute.
CREATE INDEX {index:erasure_due} ON {erasure} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- How far the move of a tenant to another store, or from it, has come: one row, and while
-- what was copied is removed one for each page of that. Never due.
CREATE TABLE {tenant_move} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- move; page and its number, joined by U+001F
	kind             TEXT NOT NULL, -- the table of a page
	status           TEXT NOT NULL, -- Copying, Held, Switched, Moved; Arriving
	version          INTEGER NOT NULL,
	token            TEXT NOT NULL, -- of the move, and of what it has claimed
	begun_on         INTEGER,
	held_on          INTEGER,
	ended_on         INTEGER, -- of the hold
	copied_ids       TEXT, -- of the rows of a page
	copied_versions  TEXT,
	UNIQUE (scope, key)
) STRICT;

-- What was answered to a request of support, so that it can come again: one row for each
-- of its targets. Never due, never changed.
CREATE TABLE {support_answer} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- a hash of actor and request, and the number of the target, joined by U+001F
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	body             TEXT NOT NULL, -- a hash of what was asked for
	answer           TEXT NOT NULL,
	answered_on      INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- What was done to rows of any table. Insert only, but for retention. The entries of
-- a row are a range of the unique key, in the order of the row's versions. It has
-- nothing personal: see audit_person.
CREATE TABLE {audit_entry} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the row's pseudonym and version, joined by U+001F
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	subject          TEXT NOT NULL, -- the table of the row that was changed
	subject_version  INTEGER NOT NULL, -- the version that the change gave it
	action           TEXT NOT NULL, -- Hold, Release, Retry, Cancel
	program          TEXT NOT NULL, -- that did it, and why in a code; empty: a person did
	code             TEXT NOT NULL,
	person           TEXT, -- the pseudonym of the person who did it
	from_status      TEXT NOT NULL,
	to_status        TEXT NOT NULL,
	done_on          INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- What somebody did, for retention and export.
CREATE INDEX {index:audit_entry_person} ON {audit_entry} (scope, person) WHERE person IS NOT NULL;

-- Whom the audit is about: what pseudonyms stand for, and the words of people. Insert
-- only, but for erasure and retention.
CREATE TABLE {audit_person} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- kind, then a table, the length of the row's key, the key and its id (and version); or a name: joined by U+001F
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	pseudonym        TEXT, -- of a row or an actor
	text             TEXT, -- the name of an actor, or words
	done_on          INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Who an actor is.
CREATE INDEX {index:audit_person_pseudonym} ON {audit_person} (scope, pseudonym) WHERE pseudonym IS NOT NULL;

-- Events on their way to subscribers outside.

-- Something that has happened: written once, never due.
CREATE TABLE {outbox_event} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the event's id
	kind             TEXT NOT NULL, -- the topic
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	payload          TEXT NOT NULL,
	created_on       INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Who wants which topic, for all tenants. A handful of rows.
CREATE TABLE {outbox_subscription} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- topic and subscriber, joined by U+001F
	kind             TEXT NOT NULL, -- the subscriber
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	topic            TEXT NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- One event on its way to one subscriber. Hot: polled, claimed and settled.
CREATE TABLE {outbox_delivery} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- event and subscriber, joined by U+001F
	kind             TEXT NOT NULL, -- the subscriber
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
	calls            TEXT NOT NULL, -- the last twenty, the oldest first
	dispatched_on    INTEGER,
	dead_on          INTEGER, -- NULL unless it is a dead letter
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it; what is done leaves it, since its due_on is NULL.
CREATE INDEX {index:outbox_delivery_due} ON {outbox_delivery} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- The dead letters, which people list and replay.
CREATE INDEX {index:outbox_delivery_dead} ON {outbox_delivery} (scope, id) WHERE dead_on IS NOT NULL;
