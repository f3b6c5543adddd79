// Package sendgrid is the mail channel over SendGrid's v3 Mail Send API, and the
// [channel.Webhook] for its Event Webhook.
//
// # What an error means
//
// SendGrid accepts a mail with the answer 202 (Twilio SendGrid documentation,
// "Mail Send" and "Responses"). Everything else does not, as far as one can tell:
//
//	dial, TLS, no byte of the request written   Transient
//	400, 404, 405, 413, 415                     Permanent; the code names the field at fault
//	401, 403                                    Transient: the key, its scopes or the sender
//	429, 503                                    Transient, with Retry-After or X-RateLimit-Reset
//	3xx                                         Transient; nothing is followed
//	200, 500, 502, 504, no answer, half a one   Unknown
//
// There is no key by which SendGrid would know a repeated mail, and no way to
// ask about one that does not need a paid add-on. So the channel is neither a
// [channel.IdempotentSend] nor a [channel.StatusLookup]: what is in doubt is
// settled by the first event of the Event Webhook, which brings our message id
// back, or else by the policy of its type.
//
// # What is sent
//
// Text and HTML, attachments and inline pictures, Reply-To, and the headers of a
// one-click unsubscribe (RFC 8058) where the message has a URL for it. The
// message id travels as the custom argument "belfry_message". Nothing of the
// message's metadata does: SendGrid keeps custom arguments for good and shows
// them to its staff.
//
// # Events
//
// Switch on the Event Webhook and its signature in SendGrid's settings, and give
// the verification key to [NewWebhook]. Events of mails that other programs send
// from the same account are left out.
package sendgrid
