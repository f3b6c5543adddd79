// Package resend is the mail channel over Resend's API, and the [channel.Webhook] for its
// events.
//
// # Setting up
//
// Verify the domain of From in Resend, and make an API key with "sending access".
//
//	mails, err := resend.New(key, &resend.Options{From: "School <office@school.example>"})
//	events, err := resend.NewWebhook(secret) // "whsec_…", shown by Resend's webhook
//	out := notify.New(store, nil, mails)
//	mux.Handle("/webhooks/", http.StripPrefix("/webhooks", notifyhttp.Webhooks(out, nil, events)))
//
// Resend's webhook calls https://…/webhooks/resend.
//
// # What an error means
//
// By Resend's documentation ("Errors", "Idempotency Keys", "Rate Limit"):
//
//	dial, TLS, no byte of the request written   Transient
//	400, 422, 451                               Permanent
//	401, 403, 404, 405, 3xx,
//	422 invalid_from_address                    Transient: the key, the domain or the address of the API
//	429                                         Transient, with Retry-After or RateLimit-Reset: rate or quota
//	409, 5xx, no answer, half a one             Unknown
//
// The id of a message is its Idempotency-Key, and Resend takes a key once in 24 hours:
// a repeat gets the answer of the first request. So a message in doubt is sent again,
// for 23 hours after its first call, and its doubt ends by itself. The answer 409 says
// that an earlier request is still at work, or had other parts: whether it was accepted
// it does not say.
//
// # What is sent
//
// Text and HTML, attachments and inline pictures, copies, Reply-To, headers and those of
// a one-click unsubscribe. The message id travels as the tag "belfry_message" too, which
// events bring back. Nothing of the message's metadata does.
package resend
