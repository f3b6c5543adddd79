-- The tables that a store has for itself. Migrations are forward only, and never
-- edited once released: their checksums are recorded. A name in braces stands for
-- the prefixed name of that table or, after "index:", of that index.
--
-- Every table has these columns first (storage.Record), and:
--   UNIQUE (scope, key)  the business identity: Ensure inserts ON CONFLICT on it,
--                        and it is the only unique constraint beside the primary
--                        key, or an insert could end a host's transaction;
--   the due index        (lane, due_on, id) WHERE due_on IS NOT NULL: polls walk
--                        it lane by lane, and finished rows leave it.
-- No index may touch status, version, lease_expires_on, claim_token or abandoned,
-- in its columns or predicate: claims write those, and would write the index too.
-- AUTOINCREMENT, since the id of a deleted row must not be given again: an old
-- copy of it would pass for the new row. Tables are STRICT, so that a column holds
-- what its type says. Instants are integers, microseconds since 1970 in UTC: as
-- text, 10:00+02:00 would sort after 09:00:01+00:00. Booleans are 0 or 1. Text
-- compares byte by byte (BINARY).

-- One row for each blob. due_on is the moment at which a blob that no committed
-- row refers to may be removed; it is NULL once a row does.
CREATE TABLE {blob} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- generated name
	type             TEXT NOT NULL,
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
	UNIQUE (scope, key)
) STRICT;

-- Collecting unreferenced blobs walks it.
CREATE INDEX {index:blob_due} ON {blob} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- The content of blobs in pieces of at most 1 MiB, unless it is kept in a folder.
-- Written once, read in the order of the key (name/number).
CREATE TABLE {blob_chunk} (
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
	data             BLOB NOT NULL,
	UNIQUE (scope, key)
) STRICT;

-- Chunks are never due, so it stays empty; every table has it.
CREATE INDEX {index:blob_chunk_due} ON {blob_chunk} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- One row that says which database this is, so that a copy can be told from it.
CREATE TABLE {store_identity} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- always 'store'
	type             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	due_on           INTEGER,
	lease_expires_on INTEGER,
	claim_token      TEXT NOT NULL,
	abandoned        INTEGER NOT NULL,
	environment      TEXT NOT NULL, -- the first name that a host gave it
	system           TEXT NOT NULL, -- empty: a file is not tied to a server
	UNIQUE (scope, key)
) STRICT;

-- Never due; every table has it.
CREATE INDEX {index:store_identity_due} ON {store_identity} (lane, due_on, id) WHERE due_on IS NOT NULL;
