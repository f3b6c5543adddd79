// Package dialog360 is the channel for WhatsApp over 360dialog, which passes
// messages to Meta's WhatsApp Cloud API, and the [channel.Webhook] for its
// statuses.
//
// # What an error means
//
// A message is accepted with the answer 200 and an id (360dialog documentation,
// "Messaging API"; "Error Code Reference"; WhatsApp Business Platform, "Error
// codes"). Meta's code is kept beside the HTTP status: "400 131026".
//
//	dial, TLS, no byte of the request written   Transient
//	Meta's codes about the account, its         Transient: 0, 2 to 4, 10, 190,
//	credentials, its rate or an outage          200 to 299, 368, 80007, 130429 and
//	                                            others; see channel.go
//	400 without a code of Meta                  Transient: 360dialog's own, about
//	                                            payment, rate or a closed account
//	1, 131000                                   Unknown: Meta does not know either
//	other codes with 4xx                        Permanent: recipient, template or text
//	401, 403, 429, 503                          Transient, with Retry-After
//	3xx                                         Transient; nothing is followed
//	200 without an id, 500, 502, 504,           Unknown
//	no answer, half a one
//
// There is no key by which a repeated message would be known, and no way to ask
// about one. So what is in doubt is settled by its first status, which brings our
// message id back, or else by the policy of its type.
//
// # What is sent
//
// Outside the day after the recipient has written, WhatsApp takes approved
// templates only: the message's Template names one, its parameters are the
// placeholders of its body, and the message's Locale is its language. A message
// without a template is sent as its text. Subject, HTML and metadata are not
// sent, and a message with attachments is refused.
//
// # Statuses
//
// 360dialog signs nothing. It sends the headers that were set together with the
// webhook's address ("Set webhook URL", "headers"), so one of them is the proof:
// set a header such as "Authorization" to a long random value and give both to
// [NewWebhook]. An attempt has no time that could be checked, so a replay is known
// by its event id only.
package dialog360
