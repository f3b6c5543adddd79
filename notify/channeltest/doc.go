// Package channeltest checks that a channel keeps the contract of [channel.Channel],
// a host's own too: above all, that its errors say rightly whether the provider can
// have the message. [Run] has a subtest for each thing that can happen to a call,
// and makes it happen on a real server.
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
// what can happen to several messages at once.
//
// The suite speaks HTTP. What it asks of a call, the tests of channel/smtp ask of a mail
// server: refusals, waits, silence, cuts before and after the final dot, answers that are
// none, certificates, large mails and any letters.
//
// What a provider does not know is declared in Harness.Without, with the reason; what
// is neither declared nor there is a failure. Run it under the race detector too.
package channeltest
