// Package infobip has the channels for SMS and WhatsApp over Infobip's API, and
// the [channel.Webhook] for its delivery and seen reports.
//
// # What an error means
//
// Infobip accepts a message with the answer 200 and a status of the group PENDING
// (Infobip documentation, "Response status and error codes"). Where it gives a
// name or a code, it is kept beside the HTTP status: "200 REJECTED_DESTINATION".
//
//	dial, TLS, no byte of the request written   Transient
//	REJECTED_NOT_ENOUGH_CREDITS,                Transient
//	REJECTED_PREPAID_PACKAGE_EXPIRED,
//	REJECTED_FLOODING_FILTER,
//	REJECTED_SYSTEM_ERROR
//	REJECTED_DUPLICATE_MESSAGE_ID               Unknown: an earlier call got there
//	other REJECTED, UNDELIVERABLE, EXPIRED      Permanent
//	401, 403                                    Transient: the key or its scopes
//	429, 503                                    Transient, with Retry-After
//	other 4xx                                   Permanent
//	3xx                                         Transient; nothing is followed
//	200 without a status, 500, 502, 504,        Unknown
//	no answer, half a one
//
// # What is in doubt
//
// Our message id is Infobip's too, so its logs of the last 48 hours tell what
// became of a call without an answer: the channel is a [channel.StatusLookup]. A
// message that is not in the logs may still be on its way into them, so that is
// no proof of absence.
//
// Infobip rejects a second message with the same id. It does not document for
// how long, so the channel is no [channel.IdempotentSend]; still, what a policy or
// a person sends again reaches the recipient once as long as it holds.
//
// # WhatsApp
//
// Outside the day after the recipient has written, WhatsApp takes approved
// templates only: the message's Template names one, its parameters are the
// placeholders of its body, and the message's Locale is its language. A message
// without a template is sent as its text.
package infobip
