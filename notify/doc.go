// Package notify makes sure that the records of a notification exist, and
// delivers them: jobs, their schedules, in-app messages and messages that a
// provider sends. What decides (automation, or the host) only
// ensures artifacts; a handler never calls a provider (Communication - System
// architecture).
//
// # From a job to a provider
//
// A [Job] says what happened and to whom it matters; its [Schedule] says when
// to look at it. The scheduler pass makes the job ready, the generator pass
// renders it once for each recipient into an [OutgoingMessage] or a
// [UserMessage], and the distributor pass claims each outgoing message before
// it calls the [channel.Channel]. Any number of processes may run the passes. A
// [MessagingJob] is the same for very many recipients, a [gate.Gate] may let a message
// wait or end it before its call, callbacks move it on ([Notifier.Receive]), and a
// [StatusSubscriber] hears what became of it.
//
// # What is promised
//
// At most one provider call per claim; at most one per message without an
// audited decision, a definite refusal or the provider's own idempotency, as
// long as acknowledged commits survive; and nothing is lost silently. This is
// not exactly-once, which cannot be promised: a process may die between the
// provider's acceptance and the moment that is recorded. Such a message is in
// doubt, visibly, and the policy that its [Type] declares settles it.
package notify
