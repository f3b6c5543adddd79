// Package slack is the channel to a Slack workspace: each message is posted by a bot,
// with chat.postMessage.
//
//	chats, err := slack.New(os.Getenv("SLACK_BOT_TOKEN"), nil) // "xoxb-…", scope chat:write
//	out := notify.New(store, nil, chats)
//	// a recipient: {Ref: "team-7", Channel: "chat:slack", Address: "C0123456789"}
//
// The address is a conversation's or a person's id, and behind a colon the thread:
// "C0123456789:1712345678.123456". The receipt of a message is the address of its thread.
// The text goes out as it is, without Slack's markup, so that what a customer wrote does
// not notify a whole channel ("<!channel>"); Options.Markup says otherwise.
//
// # What an error means
//
// Slack refuses with the status 200 and "ok": false (Slack documentation,
// "chat.postMessage"); its code is kept beside the status: "200 channel_not_found".
//
//	dial, TLS, no byte of the request written  Transient
//	invalid_auth, token_revoked and others of  Transient: the token, its scopes or
//	the token, message_limit_exceeded          the workspace
//	429, ratelimited                           Transient, with Retry-After
//	service_unavailable, request_timeout       Transient
//	channel_not_found, is_archived and others  Permanent, of the address
//	of the conversation
//	other codes                                Permanent
//	fatal_error, internal_error ("some aspect  Unknown
//	may have succeeded"), 5xx, an answer
//	without "ok", no answer, half a one
//
// Slack knows no repeated message and cannot be asked, so a doubt is for a policy or a
// person. It has no callbacks about messages.
package slack
