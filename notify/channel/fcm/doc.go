// Package fcm is the channel to devices and browsers by Firebase Cloud Messaging, with its
// HTTP v1 API.
//
//	account, err := os.ReadFile("service-account.json") // of a role that may send
//	push, err := fcm.New(account, nil)
//	out := notify.New(store, nil, push)
//	// a recipient: {Ref: "sam", Channel: "push:fcm", Address: token}
//
// The address is the registration token of one device: who has several is several
// recipients of one Ref. Subject and Text are the title and the body; Metadata are data
// for the app, with the message id as "belfry_message", by which it can leave a second one
// out. CollapseKey and ValidUntil are passed on for Android, iOS and browsers.
//
// It asks for an access token when it has none, about once an hour. The times that the
// service account signs are those of the messages' On.
//
// # What an error means
//
// Firebase accepts with the status 200 and a name (Firebase documentation, "FCM Error
// Codes", "Manage FCM registration tokens").
//
//	dial, TLS, no byte of the request written  Transient
//	no access token                            Transient: the service account, or Google
//	404 UNREGISTERED                           Permanent, and suppresses the token
//	403 SENDER_ID_MISMATCH, 400 about the token
//	                                           Permanent, of the address
//	other 400                                  Permanent, of the message
//	401, other 403, other 404                  Transient: the account or the project
//	429                                        Transient, with Retry-After; whether it is
//	                                           the device's quota or the project's is not said
//	503                                        Transient, with Retry-After
//	3xx                                        Transient; nothing is followed
//	200 without a name, other 5xx, no answer, half one
//	                                           Unknown
//
// Firebase knows no repeated message and cannot be asked, and reports nothing, so a doubt
// is for a policy or a person. A notification that comes twice rarely does harm: InDoubt
// may be Resend.
package fcm
