// Package automation decides what is due: it keeps one row for each piece of
// work that has to happen at a moment, asks the host at that moment whether it
// is still wanted and who should hear of it, and hands delivery to package
// notify (Automation & Reminders).
//
// # From an event to a notification
//
// A host registers reminder types ([Scheduler.Register]) and tells of what
// happened ([Scheduler.HandleEvent]), or says directly what it wants
// ([Scheduler.Ensure]). Either makes rows ([Schedule]) under keys that follow
// from what they are about, so that saying it twice changes nothing. When a row
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
// [Scheduler.WithTx] binds a scheduler to a transaction of the host, so that the
// host's own change and the work that follows from it commit together or not at
// all.
//
// # When an event was missed
//
// Events come first; what one of them missed is repaired by reconciliation. A
// reminder type with a [Scan] lets a Poller read its sources in bounded pages,
// at a low frequency, and compare what they want with their rows, by the same
// keys. [Upkeep.Reconcile] does it at once, after settings have changed, and
// as a dry run.
//
// # When something is wrong
//
// Failures are tried again after 5 minutes, 15 minutes and an hour, and then
// wait on support hold for a person. A source or setting that is no longer valid
// is an outcome and no failure: the row is Deactivated with a [Reason].
// [Scheduler.Explain] tells the story of a row to people.
package automation
