// Package survey turns an upstream event into a survey link in a customer's hand:
// events are ingested and matched with the triggers of published surveys, links
// are sent through channels, reminded of and expired, one response per link is
// taken, and passed on to subscribers through an outbox (Triggers & Scheduler).
//
// # From an event to a response
//
// A host publishes definitions ([Service.Publish]; form.Validate says beforehand what is
// wrong with one) and tells of events ([Service.Ingest]). Each trigger that wants an
// event makes one [Instance], the link of one customer, under a key that follows from
// the values that the trigger's recipe names, so that an event which is told again
// makes no other. A poller, or [Service.PollOnce], sends the link and its reminders
// and expires it. [Service.Submit] takes the one response by the token of the link,
// [Service.Complete] by its public id; either ends the instance and stores the
// response and the event for each [Subscriber] in one transaction.
//
// # What is promised
//
// At most one call of a channel for each claim of an instance. A send whose outcome is
// unknown is settled by the channel, if it can tell, or by Options.InDoubt; so this is not
// exactly-once. A subscriber hears of a response at
// least once, and the event's id is the same each time.
//
// # Secrets and personal data
//
// A link's token is a secret and its public id is none. Logs, errors and metrics hold
// neither tokens nor anything of the customer; belfry.Privacy empties what the tables
// hold. Package surveyhttp has the forms and the endpoints, surveytest a host for
// tests of programs that send surveys.
package survey
