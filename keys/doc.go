// Package keys builds the deterministic identities of Belfry: scheduler keys,
// the partition and row keys of notifications, and the hashes that tell one
// input or recipient from another.
//
// # Why keys are computed, not random
//
// An event, its retry and a later reconciliation must all arrive at the same row, in any
// process, time zone and order of map iteration. So a key is a pure function of what the
// work is about: which setting, which source, which occasion. It never holds a random id
// (a report's manual run id aside, which is made before the first insert and used again
// by every retry), the clock, display text, recipients or a template; see (Automation &
// Reminders, "SchedulerKey - idempotency key"). So an existing key means that the work
// exists, and a repeated request changes nothing.
//
// # Injective, and parsed back
//
// Two different occasions must never share a key, or one of them would be lost without
// notice. Components are joined with ':', and as the documents write the formats a
// component that holds a ':' reads as two. Therefore a component is refused unless it is
// non-empty, valid UTF-8, at most [MaxPartLen] bytes, and free of control characters and
// ':'. An instant is the only component with colons. Only a duration follows it, and it
// is parsed strictly. [Parse] returns exactly the value that built the key and refuses
// every other text, which proves that the format is injective.
//
// # The formats
//
// From (Automation & Reminders, "SchedulerKey - idempotency key") and (Report
// Subscription):
//
//	reminder:{setting}:{sourceType}:{source}:{triggerKey}:{targetDate}:{offsetDays}            Reminder
//	reminder:{setting}:{sourceType}:{source}:{triggerKey}:threshold:{thresholdKey}             Threshold
//	thresholdKey = {metricKey}:{thresholdValue}:{firingPolicy}:{scopeKey}                      Firing
//	report-subscription:{subscription}:scheduled:{periodStartUtc or scheduledOn}               ReportRun
//	report-subscription:{subscription}:manual:{run}                                            ManualReportRun
//
// Belfry's own, where the documents have none:
//
//	reminder:{setting}:{sourceType}:{source}:{triggerKey}:recurring:{occurrence}               Recurring
//	reminder:{setting}:{sourceType}:{source}:{triggerKey}:instant:{startUtc}:{before}          Instant
//	host:{type}:{sourceType}:{source}:{triggerKey}                                             Host
//	host:{type}:{sourceType}:{source}:{triggerKey}:recurring:{occurrence}                      HostRun
//	host:{type}:{sourceType}:{source}:{triggerKey}:manual:{run}                                HostRun
//	event:{entityType}:{entity}:{eventType}:{eventId}:{notificationType}                       NotificationEvent
//	survey:{survey}:{trigger}:{recipeHash}, survey:{survey}:{recipeHash}                       SurveyInstance
//
// From (Communication - System architecture, "Key policy"): [JobRow],
// [CampaignPartition], [UserPartition], [EmployeePartition],
// [UserMessageRow], [OutgoingMessageRow], and [Join] for an identity of
// several parts such as the dispatch guard.
//
// Hashes are SHA-256. Values with several fields are hashed with each field's length
// before it ([Sum]), so that two lists of fields never give one message. [RecipeHash] has
// the form of its document instead, and refuses values that would make it ambiguous.
// [LinkKey] makes the secret part of a survey's link.
//
// # Conventions
//
// Civil dates are strings of the form 2006-01-02 that name a day which
// exists, in years 1 to 9999. Instants are RFC 3339 in UTC with whole
// seconds; finer ones are refused rather than cut, since two of them would
// give one key. Text is compared byte by byte: no case folding, no Unicode
// normalisation, so a caller whose identifiers come in several spellings
// chooses one before building a key.
//
// All functions are pure, without state, and safe for concurrent use. Refused values are
// reported as a [*PartError].
package keys
