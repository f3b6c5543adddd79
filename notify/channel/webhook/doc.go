// Package webhook is the channel to receivers with an HTTP address of their own:
// each message is posted as JSON, signed as Standard Webhooks 1.0.0 says. The
// recipient's Address is the receiver's https URL.
//
// # What is sent
//
//	POST /hooks HTTP/1.1
//	Content-Type: application/json
//	webhook-id: 5f1d…                  the message id, the same at each attempt
//	webhook-timestamp: 1772352000      when the attempt began
//	webhook-signature: v1,K5oZ… v1,…   of each secret, over id.timestamp.body
//
//	{"type":"message","data":{"id":"5f1d…","subject":"…","text":"…", …}}
//
// The body is the same at each attempt too. A receiver verifies the signature on
// the raw body ([Verify] does it in Go), remembers the ids that it has handled for
// as long as it may be called again, and answers 2xx for those as well. A message
// with attachments is refused.
//
// # What an error means
//
//	dial, TLS, no byte of the request written   Transient
//	2xx                                         accepted, with any body
//	3xx                                         Transient; nothing is followed
//	408, 425, 429, 503                          Transient, with Retry-After
//	410 and other 4xx                           Permanent
//	other 5xx, no answer, half a one            Unknown
//	an address that is not public               Permanent
//
// A receiver that answers 500, or none, may have done its work before it failed.
// So the message is in doubt: it is not simply sent again, unless
// Options.Deduplicates says that receivers know a repeated id. Then the channel is
// a [channel.IdempotentSend] with that window, and what is in doubt is sent again
// inside it.
//
// # Whom it calls
//
// Who gives a URL decides where this process connects. So only https is spoken,
// to port 443. Every address is checked when the connection is made, after its name
// was resolved, and only those of the public Internet are used: not this machine,
// its network, or the metadata service of a cloud. Redirects are not followed, no
// proxy is used, and of an answer no more than 256 KiB are read. Options.Trusted
// and Options.Ports name the exceptions.
package webhook
