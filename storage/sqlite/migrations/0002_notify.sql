-- The tables of package notify. The first columns, the unique (scope, key) and the due
-- index are those of every table; 0001_store.sql says why.

-- One occasion to notify somebody. The key is partition key and row key, so that the
-- history of an entity is one range of it.
CREATE TABLE {notification_job} (
	id                 INTEGER PRIMARY KEY AUTOINCREMENT,
	scope              TEXT NOT NULL,
	key                TEXT NOT NULL,
	kind               TEXT NOT NULL,
	status             TEXT NOT NULL,
	version            INTEGER NOT NULL,
	lane               INTEGER NOT NULL,
	due_on             INTEGER,
	lease_expires_on   INTEGER,
	claim_token        TEXT NOT NULL,
	abandoned          INTEGER NOT NULL,
	partition_key      TEXT NOT NULL, -- where a person opens the history
	row_key            TEXT NOT NULL,
	business_unit      TEXT NOT NULL,
	entity_type        TEXT NOT NULL,
	entity             TEXT NOT NULL,
	event_data         TEXT NOT NULL, -- what the renderer works on
	recipients         TEXT NOT NULL, -- as the caller resolved them
	input_hash         TEXT NOT NULL,
	source_key         TEXT NOT NULL, -- the scheduler key that asked for it
	source_on          INTEGER, -- stable time of the occasion
	valid_until        INTEGER, -- its messages are stale from then on
	created_on         INTEGER,
	digest_on          INTEGER, -- of a digest: the moment that it waits for; NULL: it is none
	frozen             TEXT NOT NULL, -- what the first run of the generator made, or its blob
	retry_count        INTEGER NOT NULL, -- failures in a row
	lease_loss_count   INTEGER NOT NULL,
	next_retry_on      INTEGER,
	reason_code        TEXT NOT NULL, -- of the last failure or the end
	diagnostics        TEXT, -- the error of the last try that could not render it; NULL: there was none
	ended_on           INTEGER, -- when nothing was left to do
	is_on_support_hold INTEGER NOT NULL,
	hold_reason        TEXT NOT NULL, -- empty without a hold
	forgotten_on INTEGER, -- NULL: the row is whole
	erased_on INTEGER, -- NULL: nobody was erased here
	traced_on INTEGER, -- since when messages lead from all recipients to it
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it lane by lane.
CREATE INDEX {index:notification_job_due} ON {notification_job} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- Lists what waits for a person. Claims write neither column.
CREATE INDEX {index:notification_job_holds} ON {notification_job} (hold_reason, id) WHERE is_on_support_hold;
CREATE INDEX {index:notification_job_scope_holds} ON {notification_job} (scope, hold_reason, id) WHERE is_on_support_hold;

-- Jobs that messages do not lead to, or not from all of their recipients: an erasure
-- looks through them.
CREATE INDEX {index:notification_job_untraced} ON {notification_job} (scope, id) WHERE traced_on IS NULL AND forgotten_on IS NULL;

-- One job in the digest of one of its recipients; written once. The key begins with the
-- job's, so that a job is in one digest of a recipient.
CREATE TABLE {digest_entry} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- of the job, and a hash of the recipient
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	digest           TEXT NOT NULL, -- row key of the digest's job
	business_unit    TEXT NOT NULL,
	recipient_ref    TEXT, -- the host's id; NULL: known by the hash alone
	recipient_hash   TEXT NOT NULL,
	recipient        TEXT NOT NULL, -- with what the job says to this one alone
	created_on       INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- What a digest is of, the oldest first.
CREATE INDEX {index:digest_entry_digest} ON {digest_entry} (scope, digest, id);

-- All of a person, each entry in one of them.
CREATE INDEX {index:digest_entry_recipient} ON {digest_entry} (scope, recipient_ref, id) WHERE recipient_ref IS NOT NULL;
CREATE INDEX {index:digest_entry_address} ON {digest_entry} (scope, recipient_hash, id) WHERE recipient_ref IS NULL;

-- When an artifact is to be looked at. The key is the dispatch guard: artifact type,
-- partition key, row key and event type, so at most one row exists for them.
CREATE TABLE {notification_scheduler} (
	id                     INTEGER PRIMARY KEY AUTOINCREMENT,
	scope                  TEXT NOT NULL,
	key                    TEXT NOT NULL,
	kind                   TEXT NOT NULL,
	status                 TEXT NOT NULL,
	version                INTEGER NOT NULL,
	lane                   INTEGER NOT NULL,
	due_on                 INTEGER,
	lease_expires_on       INTEGER,
	claim_token            TEXT NOT NULL,
	abandoned              INTEGER NOT NULL,
	artifact_type          TEXT NOT NULL,
	artifact_partition_key TEXT NOT NULL,
	artifact_row_key       TEXT NOT NULL,
	event_type             TEXT NOT NULL,
	business_unit          TEXT NOT NULL,
	input_hash             TEXT NOT NULL,
	scheduled_on           INTEGER,
	created_on             INTEGER,
	retry_count            INTEGER NOT NULL, -- failures in a row
	lease_loss_count       INTEGER NOT NULL,
	next_retry_on          INTEGER,
	reason_code            TEXT NOT NULL, -- of the last failure or the end
	ended_on               INTEGER, -- when nothing was left to do
	is_on_support_hold     INTEGER NOT NULL,
	hold_reason            TEXT NOT NULL, -- empty without a hold
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it lane by lane.
CREATE INDEX {index:notification_scheduler_due} ON {notification_scheduler} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- Lists what waits for a person. Claims write neither column.
CREATE INDEX {index:notification_scheduler_holds} ON {notification_scheduler} (hold_reason, id) WHERE is_on_support_hold;
CREATE INDEX {index:notification_scheduler_scope_holds} ON {notification_scheduler} (scope, hold_reason, id) WHERE is_on_support_hold;

-- A campaign or report; its recipients and payload are in a blob.
CREATE TABLE {messaging_job} (
	id                   INTEGER PRIMARY KEY AUTOINCREMENT,
	scope                TEXT NOT NULL,
	key                  TEXT NOT NULL,
	kind                 TEXT NOT NULL,
	status               TEXT NOT NULL,
	version              INTEGER NOT NULL,
	lane                 INTEGER NOT NULL,
	due_on               INTEGER,
	lease_expires_on     INTEGER,
	claim_token          TEXT NOT NULL,
	abandoned            INTEGER NOT NULL,
	guid                 TEXT NOT NULL,
	business_unit        TEXT NOT NULL,
	blob                 TEXT NOT NULL, -- name, size and hash of the payload
	content_hash         TEXT NOT NULL,
	input_hash           TEXT NOT NULL,
	audience_size        INTEGER NOT NULL, -- recipients of the payload; 0: unknown
	valid_until          INTEGER, -- its messages are stale from then on
	created_on           INTEGER,
	started_on           INTEGER, -- when its schedule fell due
	hash_key             TEXT NOT NULL, -- fingerprint of the key that hashes recipients
	payload_offset       INTEGER NOT NULL, -- the cursor: bytes of the payload that are done
	recipients_done      INTEGER NOT NULL, -- before the cursor
	recipients_generated INTEGER NOT NULL, -- of those: a message is to go out
	recipients_skipped   INTEGER NOT NULL, -- nothing goes out, for a reason
	recipients_repeated  INTEGER NOT NULL, -- are in the audience twice
	chunk_on             INTEGER, -- when the last chunk was committed
	hourly_rate          INTEGER NOT NULL, -- recipients an hour, of the last chunks
	cancelled_on         INTEGER, -- by a person
	cancelled_up_to      TEXT NOT NULL, -- key of the last message that a cancellation has looked at
	in_flight            INTEGER NOT NULL, -- messages that it found with a provider
	cancel_rounds        INTEGER NOT NULL,
	messages_cancelled   INTEGER NOT NULL,
	retry_count          INTEGER NOT NULL, -- failures in a row
	lease_loss_count     INTEGER NOT NULL,
	next_retry_on        INTEGER,
	reason_code          TEXT NOT NULL, -- of the last failure or the end
	ended_on             INTEGER, -- when nothing was left to do
	is_on_support_hold   INTEGER NOT NULL,
	hold_reason          TEXT NOT NULL, -- empty without a hold
	forgotten_on INTEGER, -- NULL: the row is whole
	erased_on INTEGER, -- NULL: nobody was erased here
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it lane by lane.
CREATE INDEX {index:messaging_job_due} ON {messaging_job} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- Lists what waits for a person. Claims write neither column.
CREATE INDEX {index:messaging_job_holds} ON {messaging_job} (hold_reason, id) WHERE is_on_support_hold;
CREATE INDEX {index:messaging_job_scope_holds} ON {messaging_job} (scope, hold_reason, id) WHERE is_on_support_hold;

-- One message to one recipient by one method, claimed before its provider is called.
-- The type is the channel's key, since a process claims only what it can send.
CREATE TABLE {outgoing_message} (
	id                  INTEGER PRIMARY KEY AUTOINCREMENT,
	scope               TEXT NOT NULL,
	key                 TEXT NOT NULL,
	kind                TEXT NOT NULL,
	status              TEXT NOT NULL,
	version             INTEGER NOT NULL,
	lane                INTEGER NOT NULL,
	due_on              INTEGER,
	failed_on           INTEGER, -- for good
	lease_expires_on    INTEGER,
	claim_token         TEXT NOT NULL,
	abandoned           INTEGER NOT NULL,
	partition_key       TEXT NOT NULL, -- row key of the job, or GUID of the messaging job
	row_key             TEXT NOT NULL, -- recipient hash and method
	job_partition_key   TEXT NOT NULL,
	notification_type   TEXT NOT NULL,
	business_unit       TEXT NOT NULL,
	method              TEXT NOT NULL,
	recipient_ref       TEXT, -- the host's id; NULL: known by the hash alone
	recipient_hash      TEXT NOT NULL,
	hash_key            TEXT NOT NULL, -- fingerprint of the key that it was made with
	recipient_name      TEXT NOT NULL,
	address             TEXT NOT NULL,
	zone                TEXT NOT NULL,
	attempt_no          INTEGER NOT NULL,
	content             TEXT NOT NULL, -- the first rendering
	content_hash        TEXT NOT NULL,
	input_hash          TEXT NOT NULL,
	in_doubt            TEXT NOT NULL, -- policy of the type
	consent_group       TEXT NOT NULL, -- of the type; empty: none
	opt_in              INTEGER, -- of the group: it has to be asked for; NULL: it has not
	mandatory           INTEGER NOT NULL, -- of the type too
	requested           INTEGER NOT NULL, -- of the type too
	by_job              INTEGER, -- the generator made it, and may again; NULL: the host did
	scheduled_on        INTEGER,
	valid_until         INTEGER, -- stale from then on
	message_id          TEXT NOT NULL, -- random; what providers see
	unless_read         TEXT NOT NULL, -- the message in an inbox that it goes out beside, while that is unread
	reminds             TEXT NOT NULL, -- the message_id of the message that it reminds of; empty: none
	calls_before        INTEGER NOT NULL, -- calls of those
	owner               TEXT NOT NULL, -- the package whose message it is; empty: the host's
	created_on          INTEGER,
	calls               INTEGER NOT NULL, -- provider calls that were started
	call_started_on     INTEGER, -- set from before a call: a crash leaves it in doubt
	sent_on             INTEGER,
	provider_message_id TEXT, -- NULL until a provider has named it
	via                 TEXT NOT NULL DEFAULT '', -- channel of a chain; empty: the first
	own_account         INTEGER NOT NULL, -- the last call went by the tenant's own account
	redirected          INTEGER NOT NULL, -- the last call went to another address
	copies              INTEGER NOT NULL, -- how many got a copy with the last call
	doubts              INTEGER NOT NULL,
	lookups             INTEGER NOT NULL,
	resolution          TEXT NOT NULL, -- how the last doubt was settled
	resolved_on         INTEGER,
	idempotent_until    INTEGER,
	retry_count         INTEGER NOT NULL, -- failures in a row
	lease_loss_count    INTEGER NOT NULL,
	next_retry_on       INTEGER,
	reason_code         TEXT NOT NULL, -- of the last failure or the end
	ended_on            INTEGER, -- when nothing was left to do
	is_on_support_hold  INTEGER NOT NULL,
	hold_reason         TEXT NOT NULL, -- empty without a hold
	forgotten_on INTEGER, -- NULL: the row is whole
	erased_on INTEGER, -- NULL: nobody was erased here
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it lane by lane.
CREATE INDEX {index:outgoing_message_due} ON {outgoing_message} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- Lists what waits for a person. Claims write neither column.
CREATE INDEX {index:outgoing_message_holds} ON {outgoing_message} (hold_reason, id) WHERE is_on_support_hold;
CREATE INDEX {index:outgoing_message_scope_holds} ON {outgoing_message} (scope, hold_reason, id) WHERE is_on_support_hold;

-- What failed of a channel, over all tenants: who recovers it walks it.
CREATE INDEX {index:outgoing_message_failed} ON {outgoing_message} (kind, failed_on, id) WHERE failed_on IS NOT NULL;

-- How doubts of a channel ended, over all tenants: who decides about others counts them.
CREATE INDEX {index:outgoing_message_resolved} ON {outgoing_message} (kind, resolved_on, id) WHERE resolved_on IS NOT NULL;

-- All that a person got, each message in one of them. Its texts are ordered by their
-- bytes, and NULL costs nothing; each query compares, so that it is none of those.
CREATE INDEX {index:outgoing_message_recipient} ON {outgoing_message} (scope, recipient_ref, id) WHERE recipient_ref IS NOT NULL;
CREATE INDEX {index:outgoing_message_address} ON {outgoing_message} (scope, recipient_hash, id) WHERE recipient_ref IS NULL;

-- The message that a provider speaks of.
CREATE INDEX {index:outgoing_message_provider} ON {outgoing_message} (provider_message_id) WHERE provider_message_id IS NOT NULL;

-- A message in an inbox of the host's application, never due. The key is the inbox and
-- the reverse time of its occasion, so that the newest are the first of a range.
CREATE TABLE {user_message} (
	id                INTEGER PRIMARY KEY AUTOINCREMENT,
	scope             TEXT NOT NULL,
	key               TEXT NOT NULL,
	kind              TEXT NOT NULL,
	status            TEXT NOT NULL,
	version           INTEGER NOT NULL,
	lane              INTEGER NOT NULL,
	partition_key     TEXT NOT NULL, -- the inbox
	row_key           TEXT NOT NULL,
	job_partition_key TEXT NOT NULL,
	job_row_key       TEXT NOT NULL,
	business_unit     TEXT NOT NULL,
	recipient_ref     TEXT, -- NULL: the inbox alone says who it is
	content           TEXT NOT NULL,
	content_hash      TEXT NOT NULL,
	input_hash        TEXT NOT NULL,
	by_job            INTEGER, -- the generator made it, and may again; NULL: the host did
	source_on         INTEGER,
	created_on        INTEGER,
	seen_on           INTEGER,
	read_on           INTEGER,
	archived_on       INTEGER,
	snoozed_until     INTEGER,
	escalated_on      INTEGER, -- it was unread, and another went out
	forgotten_on INTEGER, -- NULL: the row is whole
	erased_on INTEGER, -- NULL: nobody was erased here
	UNIQUE (scope, key)
) STRICT;

-- What is new in an inbox, so that counting it costs what is new and not what is there.
CREATE INDEX {index:user_message_unread} ON {user_message} (scope, key) WHERE read_on IS NULL AND archived_on IS NULL;

-- What a person has in any inbox.
CREATE INDEX {index:user_message_recipient} ON {user_message} (scope, recipient_ref, id) WHERE recipient_ref IS NOT NULL;

-- The thin trace of one run of due work in the history of its source; written once,
-- never scanned for work.
CREATE TABLE {automation_job} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	lane             INTEGER NOT NULL,
	partition_key    TEXT NOT NULL, -- the source entity
	row_key          TEXT NOT NULL,
	scheduler_key    TEXT NOT NULL,
	trigger_type     TEXT NOT NULL,
	business_unit    TEXT NOT NULL,
	source_type      TEXT NOT NULL,
	source           TEXT NOT NULL,
	setting          TEXT NOT NULL,
	input_hash       TEXT NOT NULL,
	result           TEXT NOT NULL,
	scheduled_on     INTEGER,
	created_on       INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- What was asked for under a key that stands for something else; written once.
CREATE TABLE {notification_conflict} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	artifact         TEXT NOT NULL,
	partition_key    TEXT NOT NULL,
	row_key          TEXT NOT NULL,
	field            TEXT NOT NULL, -- the immutable field that differs
	stored           TEXT NOT NULL,
	wanted           TEXT NOT NULL,
	created_on       INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- What providers report about messages, and whom nothing more is sent to.

-- A callback finds its message by the id that we gave it.
CREATE INDEX {index:outgoing_message_message_id} ON {outgoing_message} (message_id);

-- What providers reported about messages: each event once, also those whose message
-- is not known yet, which are due until it is. Rows are the memory by which a
-- repeated callback is known, and are deleted a month after they came. The scope is
-- the tenant whose own account reports; empty: the account that tenants share.
CREATE TABLE {delivery_event} (
	id                  INTEGER PRIMARY KEY AUTOINCREMENT,
	scope               TEXT NOT NULL,
	key                 TEXT NOT NULL, -- provider and a hash of its event id
	kind                TEXT NOT NULL, -- the provider
	status              TEXT NOT NULL, -- Matched, Waiting, Orphan
	version             INTEGER NOT NULL,
	lane                INTEGER NOT NULL,
	due_on              INTEGER,
	lease_expires_on    INTEGER,
	claim_token         TEXT NOT NULL,
	abandoned           INTEGER NOT NULL,
	status_kind         TEXT NOT NULL, -- Accepted, Failed, Delivered, ...
	message_id          TEXT NOT NULL, -- ours, where the provider gave it back
	provider_message_id TEXT NOT NULL,
	code                TEXT NOT NULL, -- the provider's, of a failure
	lasting             INTEGER NOT NULL,
	happened_on         INTEGER,
	received_on         INTEGER,
	address_hash        TEXT NOT NULL, -- of whom it is about, where the provider says so
	address_only        INTEGER NOT NULL, -- of the message's recipient only if that is theirs
	list                TEXT NOT NULL, -- the provider's, that a recipient left or came back to
	tries               INTEGER NOT NULL, -- how often its message was looked for in vain
	UNIQUE (scope, key)
) STRICT;

-- Polls walk it: events whose message is not known yet.
CREATE INDEX {index:delivery_event_due} ON {delivery_event} (lane, due_on, id) WHERE due_on IS NOT NULL;

-- What happened to a message beside its status: it bounced, its recipient complained
-- or unsubscribed. Insert only, and kept as long as the message. The key begins with
-- the message's id, so that its facts are one range.
CREATE TABLE {delivery_fact} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- message id, provider and a hash of its event id
	kind             TEXT NOT NULL, -- the kind: Bounced, Complained, Unsubscribed
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	provider         TEXT NOT NULL,
	code             TEXT NOT NULL,
	lasting          INTEGER NOT NULL,
	happened_on      INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Addresses to which nothing more is sent, or nothing but what is mandatory. There is
-- no address here, only its hash under the host's key.
CREATE TABLE {suppression} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- address hash and reason
	kind             TEXT NOT NULL, -- the delivery method
	status           TEXT NOT NULL, -- Active while a source says so, else Lifted
	version          INTEGER NOT NULL,
	address_hash     TEXT NOT NULL,
	hash_key         TEXT NOT NULL, -- fingerprint of the key that it was made with
	reason           TEXT NOT NULL, -- HardBounce, Complaint, Unsubscribe
	since            INTEGER,
	source           TEXT NOT NULL, -- the provider that said so, or Support
	message_id       TEXT NOT NULL, -- that it was said about
	said             TEXT NOT NULL, -- the last word of each source
	UNIQUE (scope, key)
) STRICT;

-- An address in all tenants: whoever came back to a shared account is looked for.
CREATE INDEX {index:suppression_address} ON {suppression} (address_hash);

-- What the gates before a provider call know: what is paused, what recipients want,
-- what was counted; and the key under which recipients are hashed.

-- One row for each part of the sending that was ever paused, resumed ones included,
-- so that its versions go on and the audit tells of each. Every claim of messages
-- reads those that are in force: there are a handful.
CREATE TABLE {notification_pause} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL, -- empty as well if it is everywhere
	key              TEXT NOT NULL, -- all, type:X, channel:X; everywhere: before it
	kind             TEXT NOT NULL, -- the channel; empty: all
	status           TEXT NOT NULL, -- Paused, Resumed
	version          INTEGER NOT NULL,
	everywhere       INTEGER NOT NULL, -- in every scope
	paused_type      TEXT NOT NULL, -- of notification; empty: all
	paused_by        TEXT NOT NULL,
	reason           TEXT NOT NULL,
	paused_on        INTEGER,
	paused_until     INTEGER, -- NULL: until somebody resumes it
	UNIQUE (scope, key)
) STRICT;

-- One row for each channel that ever took nothing for a reason of its own, those that
-- are back included, so that its versions go on and the audit tells of each. Every
-- claim of messages reads those that are out.
CREATE TABLE {channel_outage} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL, -- whose channel it is; empty if all share it
	key              TEXT NOT NULL, -- channel:X; everywhere: before it
	kind             TEXT NOT NULL, -- the channel
	status           TEXT NOT NULL, -- Out, Over
	version          INTEGER NOT NULL,
	everywhere       INTEGER NOT NULL,
	class            TEXT NOT NULL, -- of the last refusal
	code             TEXT NOT NULL, -- the provider's
	since            INTEGER,
	probes           INTEGER NOT NULL, -- so far
	probe_on         INTEGER, -- the next one is not earlier
	UNIQUE (scope, key)
) STRICT;

-- What recipients want, and do not want, by type and method. A recipient's rows are a
-- range of the unique key.
CREATE TABLE {recipient_preference} (
	id                INTEGER PRIMARY KEY AUTOINCREMENT,
	scope             TEXT NOT NULL,
	key               TEXT NOT NULL, -- recipient, method, and type or group, or recipient, stop and group, joined by U+001F
	kind              TEXT NOT NULL,
	status            TEXT NOT NULL,
	version           INTEGER NOT NULL,
	recipient_ref     TEXT NOT NULL, -- the host's id; empty: the key has a hash of the address
	notification_type TEXT NOT NULL, -- empty: all
	consent_group     TEXT NOT NULL, -- empty: none
	method            TEXT NOT NULL, -- empty: all
	opted_out         INTEGER NOT NULL,
	changed_on        INTEGER,
	message_id        TEXT NOT NULL, -- whose unsubscribe link said so; empty: the host, or support
	UNIQUE (scope, key)
) STRICT;

-- What tenants had messages of a type say: a row for each version, the newest first.
CREATE TABLE {message_template} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- type and 999999 less the number, joined by U+001F
	kind             TEXT NOT NULL, -- the type
	status           TEXT NOT NULL, -- Active, Withdrawn
	version          INTEGER NOT NULL,
	number           INTEGER NOT NULL,
	templates        TEXT NOT NULL,
	created_on       INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- What each recipient has got of late, as far as a frequency cap looks: one row that
-- every message to the recipient writes, and nothing reads but by its key.
CREATE TABLE {recipient_frequency} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- the recipient
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	messages         TEXT NOT NULL, -- ids and times, the oldest first
	UNIQUE (scope, key)
) STRICT;

-- What was taken of the rate of a channel, for all processes: the row that every group
-- of messages of that channel writes.
CREATE TABLE {rate_bucket} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL, -- empty: all scopes share it
	key              TEXT NOT NULL, -- the channel
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	taken_until      INTEGER, -- when the bucket is full again
	promised_until   INTEGER, -- when the last message that waits comes back
	UNIQUE (scope, key)
) STRICT;

-- Attempts that a rate has let through, so that one that is asked about again, after a
-- crash, is not counted again. Insert only; deleted after an hour.
CREATE TABLE {rate_reservation} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL, -- channel, message id and number of the attempt, joined by U+001F
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	reserved_on      INTEGER,
	UNIQUE (scope, key)
) STRICT;

-- Under which key recipients are hashed: one row.
CREATE TABLE {recipient_hash_key} (
	id               INTEGER PRIMARY KEY AUTOINCREMENT,
	scope            TEXT NOT NULL,
	key              TEXT NOT NULL,
	kind             TEXT NOT NULL,
	status           TEXT NOT NULL,
	version          INTEGER NOT NULL,
	fingerprint      TEXT NOT NULL, -- of the key; empty: a plain hash
	former           TEXT NOT NULL, -- fingerprints that lists are still known under
	UNIQUE (scope, key)
) STRICT;
