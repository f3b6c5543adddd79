// Package outbox carries events from the transaction in which something happened
// to subscribers outside: one row for the event, and one for its delivery to each
// subscriber, which is tried a bounded number of times, then put aside as a dead
// letter, and may be replayed (Triggers & Scheduler, "Transactional outbox").
//
// A subscriber is called at least once: a process that dies in a call, or whose
// answer is lost, leads to another. The event's ID is the same each time. After a
// recorded success it is not called again, unless a person replays it.
package outbox
