// Package twilio has the channels for SMS and WhatsApp over Twilio's Messages
// API, and the [channel.Webhook] for its status callbacks.
//
// # What an error means
//
// Twilio accepts a message by creating its resource: an answer of 2xx with its
// SID (Twilio documentation, "Messages resource"). Everything else does not, as
// far as one can tell; where Twilio gives an error code, it is kept beside the
// status: "400 21211" (Twilio documentation, "Error and Warning Dictionary").
//
//	dial, TLS, no byte of the request written   Transient
//	21611 (queue is full), 63038 (daily limit)  Transient
//	429 ("safe to retry"), 503                  Transient, with Retry-After
//	401, 403                                    Transient: the credentials, the account
//	other 4xx                                   Permanent: 21211 bad number, 21610 has sent STOP
//	3xx                                         Transient; nothing is followed
//	2xx without a SID, 500, 502, 504,           Unknown
//	no answer, half a one
//
// # What is in doubt
//
// Twilio knows no key by which it would recognise a repeated message, so the
// channel is no [channel.IdempotentSend]. It is no [channel.StatusLookup] either: a
// message can be asked for by its SID only, which is lost with the answer, and the
// list of messages by number and day holds nothing of ours; that one of them has
// the same text proves nothing. What settles a doubt is the status callback, since
// its URL names our message id. So set Options.StatusCallback.
//
// # WhatsApp
//
// Outside the day after the recipient has written, WhatsApp takes approved
// templates only: the message's Template names one by its Content SID ("HX…"),
// and its parameters become the variables 1, 2 and so on. A message without a
// template is sent as its text.
package twilio
