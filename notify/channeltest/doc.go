// Package channeltest checks that a channel keeps the contract of [channel.Channel], also
// a host's own channel. Most important is that its errors say correctly whether the
// provider may have the message. [Run] has a subtest for each thing that can happen to a
// call, and makes it happen on a real server.
//
// A channel's own test is a [Harness] and a call:
//
//	func TestContract(t *testing.T) {
//		t.Parallel()
//		channeltest.Run(t, channeltest.Harness{
//			Open:    func(t *testing.T, at channeltest.Provider) channel.Channel { return open(t, at) },
//			Message: func(channeltest.Provider) channel.Message { return channel.Message{To: "+14155550100"} },
//			Read:    read,   // what a request would deliver
//			Accept:  accept, // the provider's answers
//			…
//		})
//	}
//
// A channel that is a [channel.BatchSend] has a [Batch] in its harness, and subtests for
// several messages at once.
//
// The suite speaks HTTP. The tests of channel/smtp check the same with a mail server:
// refusals, waits, silence, broken connections before and after the final dot, invalid
// answers, certificates, large mails and all alphabets.
//
// Declare features that a provider lacks in Harness.Without, with the reason. A missing
// feature that is not declared fails. Run it under the race detector, too.
package channeltest
