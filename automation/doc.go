// Package automation decides what is due: it keeps one row for each piece of
// work that has to happen at a moment, asks the host at that moment whether it
// is still wanted and who the recipients are, and hands delivery to package
// notify (Automation & Reminders).
//
// # From an event to a notification
//
// A host registers reminder types ([Scheduler.Register]), and sets the reminders of
// a source ([Reminders.Set]) or passes on events ([Scheduler.HandleEvent]), for which
// a provider answers. Either makes rows ([Schedule]) under keys that follow
// from what they are about, so that a repeated call changes nothing. When a row
// is due, any process that registered its type claims it, loads setting and
// source again, resolves recipients, and ensures the job and its schedule in
// the transaction that completes the row. Nothing is sent or rendered here:
// Completed means that delivery work is queued, not that it arrived.
//
// # What recurs
//
// A candidate with a [Recurrence] is a series. Only its next occurrence is a row;
// when that first ends or is put on hold, whatever became of it, the one behind
// it is made in the same transaction. [Lateness] says what happens to those that
// were missed, and [Scheduler.Preview] lists those to come.
//
// # Inside the host's transaction
//
// [Reminders.In] and [Scheduler.WithTx] bind calls to a transaction of the host, so that the
// host's own change and the work that follows from it commit together or not at
// all.
//
// # When an event was missed
//
// Events come first; what one of them missed is repaired by reconciliation. A
// reminder type with a [Scan] lets a Poller read its sources in bounded pages,
// at a low frequency, and compare what they want with their rows, by the same
// keys. [Maintenance.Reconcile] does it at once, after settings have changed, and
// as a dry run.
//
// # When something is wrong
//
// Failures are tried again after 5 minutes, 15 minutes and an hour, and then
// wait on support hold for a person. A source or setting that is no longer valid
// is an outcome and no failure: the row is Deactivated with a [Reason].
// [Scheduler.Explain] tells the story of a row to people.
//
// # Names by task
//
//   - Set up: [New], [Options], [Scheduler], [ReminderType], [Lateness], [Retention].
//   - Set reminders: [Reminders], [About], [DaysBefore], [DaysAfter], [Before], [Cron]. They
//     make a [Candidate]; one has a [Source] and a [Date], an instant or a [Recurrence].
//   - Answer for sources: [TriggerProvider] with [Request], [Answer] and [Each]; [Event];
//     [InvalidationProvider], [ImmediateNotificationProvider], [Scan], [SettingsSource].
//   - Answer for a [Due] row: [RecipientProvider], [DeliveryPolicy], [Validator].
//   - Do work of your own: [Scheduler.Handle], [WorkType], [Handler], [Outcome], [Artifacts].
//   - Look and explain: [Schedule], [Upcoming], [Explanation], [Absence], [Trace].
//   - Act for support: [Support], [By], [Action], [Selection], [Extent], [Pause].
//   - Repair: [Maintenance], [ReconcileOptions], [Replan], [MarkReplan].
//
// Names for one feature have packages of their own: automation/threshold (conditions of
// measured values), automation/dst (local times that clocks skip or repeat),
// automation/processors (several listeners to an event), automation/cutover (moving from an
// old scheduler, by [Rollout]), automation/causes (why there is no row), automation/settings
// (stored settings), automation/report (reports) and automation/automationhttp. Package
// reasons has the codes.
package automation
