// Package apns is the channel to Apple's devices by the Apple Push Notification service.
//
//	key, err := os.ReadFile("AuthKey_ABC123DEFG.p8")
//	push, err := apns.New("com.example.school", apns.Credentials{Key: key, KeyID: "ABC123DEFG", TeamID: "DEF123GHIJ"}, nil)
//	out := notify.New(store, nil, push)
//	// a recipient: {Ref: "sam", Channel: "push:apns", Address: token}
//
// The address is the device token in hex: who has several devices is several recipients of
// one Ref. Subject and Text are the title and the body of an alert; Metadata and the
// message id are in "data", the id as "belfry_message", by which the app can leave a second
// one out. The message id is the apns-id, too, written as a UUID. CollapseKey and
// ValidUntil become apns-collapse-id and apns-expiration.
//
// It speaks HTTP/2 with a token, which it signs anew every 40 minutes, or with a
// certificate. The times that the tokens state are those of the messages' On.
//
// # What an error means
//
// Apple accepts with the status 200 and an apns-id (Apple documentation, "Sending
// notification requests to APNs", "Handling notification responses from APNs").
//
//	dial, TLS, no byte of the request written  Transient
//	410 Unregistered, ExpiredToken             Permanent, and suppresses the token
//	400 BadDeviceToken, DeviceTokenNotForTopic Permanent, of the address; the cause may be a
//	                                           BaseURL of the other environment, so the token
//	                                           is not suppressed
//	400 about the topic, 403, 404, 405, TooManyProviderTokenUpdates
//	                                           Transient: the account or the settings
//	429 TooManyRequests                        Transient, of the device
//	other 400, 413                             Permanent, of the message
//	503                                        Transient
//	3xx                                        Transient; nothing is followed
//	200 without an apns-id, 500, no answer, half one
//	                                           Unknown
//
// Apple does not say that it filters a repeated apns-id, cannot be asked, and reports
// nothing, so a doubt is for a policy or a person. A notification that comes twice rarely
// does harm: InDoubt may be Resend, with a CollapseKey the second replaces the first.
package apns
