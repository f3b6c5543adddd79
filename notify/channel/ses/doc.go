// Package ses is the mail channel by Amazon SES, with its API v2, and the webhook for its
// events by Amazon SNS.
//
//	cfg, err := config.LoadDefaultConfig(ctx) // of the AWS SDK, or aws.Credentials of another kind
//	mails, err := ses.New("eu-west-1", cfg.Credentials, &ses.Options{From: "School <office@school.example>", ConfigurationSet: "belfry"})
//	out := notify.New(store, nil, mails)
//	// a recipient: {Ref: "sam", Channel: "email:ses", Address: "sam@example.com"}
//	events, err := ses.NewWebhook("arn:aws:sns:eu-west-1:123456789012:mail-events")
//	// mounted with notifyhttp.Webhooks, and subscribed to the topic
//
// Requests are signed by the AWS SDK's signer, with the time of the messages' On, and are
// made without its client, which would repeat them. A mail has the tag "belfry_message",
// by which events find it.
//
// # What an error means
//
// SES accepts with the status 200 and a MessageId (Amazon SES API v2 Reference,
// "SendEmail", "Common Error Types").
//
//	dial, TLS, no byte of the request written  Transient
//	no credentials                             Transient
//	400 and 404 about the account, its identities, its configuration set or its rate, 403, 429
//	                                           Transient, the channel's fault
//	MessageRejected, other 4xx                 Permanent
//	503                                        Transient
//	3xx                                        Transient; nothing is followed
//	200 without a MessageId, other 5xx, no answer, half one
//	                                           Unknown
//
// SES knows no repeated message and cannot be asked by our id. With a ConfigurationSet
// that publishes to the webhook's topic, the first event of a mail ends its doubt; without
// one it is for a policy or a person.
package ses
