// Package smtp is the mail channel over SMTP: a relay of the host's own, or the
// submission port of a provider.
//
// # What an error means
//
// A message is accepted at one moment: when the server answers the end of its
// data (RFC 5321, section 4.2.5). Everything that goes wrong before the final
// dot was sent means that it was not accepted, whether the server refused, the
// connection broke or the context ended; so it is Transient, or Permanent where
// the server refuses the message for good. What is left is the time between
// the final dot and the answer to it. If the connection breaks or the context
// ends there, the server may have the message: Unknown.
//
//	dial, greeting, EHLO, STARTTLS, AUTH    Transient, for any answer
//	MAIL, RCPT, DATA: 4yz                   Transient
//	MAIL, RCPT, DATA: 5yz                   Permanent; 530, 534, 535, 538 ask to log in: Transient
//	no answer to one of these               Transient
//	data cut off before the final dot       Transient
//	answer to the final dot: 4yz            Transient
//	answer to the final dot: 5yz            Permanent
//	no answer to the final dot, or none     Unknown
//	that can be understood
//
// Whose fault it is the enhanced code tells: 5.1.x is the address, 5.7.60 and words such as
// "relay access denied" are the account, and another 5.7.x at RCPT is a policy, against the
// account perhaps ([channel.FaultPolicy]). It suppresses no address.
//
// SMTP has no way to ask about a message later, so the channel is no
// [channel.StatusLookup]: what is in doubt is settled by the policy of its type.
// Since the Message-ID is made of the message id, the server's log tells.
//
// # What comes back
//
// With an Options.ReturnPath each mail has a return path of its own, to which servers report
// that they could not deliver it after all; the channel reads those reports as a
// [channel.Webhook].
//
// # Connections
//
// Connections are kept for the next message. One that the server has closed
// meanwhile is noticed at MAIL, before anything is handed over, and replaced
// within the same Send.
package smtp
