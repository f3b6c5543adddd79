// Package webpush is the channel to browsers by their makers' push services (RFC 8030),
// with encrypted contents (RFC 8291) and a key that says who sends (VAPID, RFC 8292).
//
//	push, err := webpush.New(privateKey, "mailto:office@school.example", nil)
//	// the page: pushManager.subscribe({userVisibleOnly: true, applicationServerKey: push.PublicKey()})
//	out := notify.New(store, nil, push)
//	// a recipient: {Ref: "sam", Channel: "push:webpush", Address: JSON.stringify(subscription)}
//
// The private key is 32 random bytes in base64url, as generators of VAPID keys print it. It
// is made once: browsers subscribe to its public key. Who has several browsers is several
// recipients of one Ref.
//
// What the service worker gets is what showNotification takes: title (Subject), body
// (Text), tag (CollapseKey), and data, which is Metadata and the message id as
// "belfry_message".
//
//	self.addEventListener("push", e => { const n = e.data.json(); e.waitUntil(self.registration.showNotification(n.title, n)) })
//
// CollapseKey is the Topic, too, ValidUntil the TTL. The endpoint comes from a browser,
// so its origin is not trusted: it is called over https, at port 443 and public addresses
// only, without following redirects. The times that are signed are those of the messages'
// On.
//
// # What an error means
//
// Every push service is a server of its own, of which none speaks for the channel: errors
// blame the address. 2xx accepts, with any body.
//
//	dial, TLS, no byte of the request written  Transient; not to a public address: Permanent
//	404, 410                                   Permanent, and suppresses the subscription
//	413                                        Permanent, of the message
//	403 (another key), other 4xx               Permanent
//	401, 408, 425, 429, 503                    Transient, with Retry-After
//	3xx                                        Transient; nothing is followed
//	other 5xx, no answer                       Unknown
//
// A push service knows no repeated message and cannot be asked, and reports nothing, so a
// doubt is for a policy or a person. A notification that comes twice rarely does harm:
// InDoubt may be Resend, with a CollapseKey the second replaces the first.
package webpush
