// Package webhook is a subscriber of survey responses with an HTTP address of its
// own: each response is posted as JSON, signed as Standard Webhooks 1.0.0 says.
//
// # What is sent
//
//	POST /hooks HTTP/1.1
//	Content-Type: application/json
//	webhook-id: survey-response-completed-8f3a1c4e-…   the event's id, the same at each attempt
//	webhook-timestamp: 1772352000                      when the attempt began
//	webhook-signature: v1,K5oZ… v1,…                   of each secret, over id.timestamp.body
//
//	{"type":"survey.response-completed","timestamp":"2026-05-14T06:00:00Z","data":{"surveyId":4523, …}}
//
// The body is the same at each attempt too; its data is a
// [survey.ResponseCompleted]. A receiver verifies the signature on the raw body
// ([Verify] does it in Go), remembers the ids that it has handled, since it may be
// called again, and answers 2xx for those as well.
//
// # What an answer means
//
//	2xx                      the receiver has it
//	410                      it wants no more: the subscriber is disabled
//	anything else, or none   another try, with Retry-After where the answer has one
//
// The tries are those of every [survey.Subscriber]. While a subscriber is disabled
// nothing is called and every event is a dead letter at once; after
// [Subscriber.Enable], or a restart with another URL, they can be replayed.
//
// # Whom it calls
//
// Only https is spoken, every address is checked when the connection is made,
// after its name was resolved, and only those of the public Internet are used.
// Redirects are not followed, no proxy is used, whatever the environment says, and
// of an answer no more than 64 KiB are read. Options.Trusted and Options.Ports name the exceptions.
package webhook
