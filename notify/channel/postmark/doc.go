// Package postmark is the mail channel over Postmark's API, and the [channel.Webhook] for
// its callbacks.
//
// # Setting up
//
// Verify the domain of From in Postmark, and take the API token of the server.
//
//	mails, err := postmark.New(token, &postmark.Options{From: "School <office@school.example>"})
//	events, err := postmark.NewWebhook("postmark", password) // of your choice
//	out := notify.New(store, nil, mails)
//	mux.Handle("/webhooks/", http.StripPrefix("/webhooks", notifyhttp.Webhooks(out, nil, events)))
//
// Add the webhook https://postmark:PASSWORD@…/webhooks/postmark to the message stream.
//
// # What an error means
//
// By Postmark's documentation ("HTTP response codes", "API error codes"):
//
//	dial, TLS, no byte of the request written   Transient
//	401, 403, 404, 429, 503, 3xx, and the
//	codes 10, 100, 400, 401, 405, 412, 413,
//	429, 1235                                   Transient: the token, the sender, the account or the stream
//	406                                         Permanent, and suppresses: all recipients are inactive
//	other codes, 413, 415, 422                  Permanent
//	500, 502, 504, no answer, half a one        Unknown
//
// Postmark filters no repeats, but can be asked: the message id travels as the metadata
// "belfry_message", by which messages are found. One that is found was accepted. One that
// is not found a quarter of an hour after its call never was: how long an accepted one
// takes to be found is not documented, so the channel does not conclude earlier. So
// doubts end by themselves. Keep the server's message retention on, and say it in
// [Options].Retention if it is not 45 days.
//
// # Batches
//
// With Options.Batch mails that are due together go by one request, and Postmark answers
// for each. A request that is refused as a whole is told by its status and code as above,
// and its mails go one by one the next time.
//
// # What is sent
//
// Text and HTML, attachments and inline pictures (all together 10 MB as base64, which
// Postmark refuses to exceed), copies, Reply-To, headers and those of a one-click
// unsubscribe. Nothing of the message's metadata is.
package postmark
