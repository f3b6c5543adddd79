// Package rest is what the channels have in common whose provider has a REST
// API: one request for each call, bounded in time and size, with errors that say
// whether the provider can have the message and hold nothing personal.
//
// # One request
//
// net/http sends a request a second time by itself when a kept-alive connection
// turns out to be dead, unless it cannot read the body again; HTTP/2 does so in
// more cases. So bodies are read once, only HTTP/1.1 is spoken, and redirects are
// not followed.
//
// # What an error means
//
// Every error of [Client.Do] is a [channel.Error]:
//
//	no byte of the request was written     Transient: dial, DNS, TLS, a dead
//	                                       connection that was noticed in time
//	no whole answer came after that        Unknown
//
// An answer is the channel's to judge, by its provider's documented codes.
// [Answer.Refusal] judges by the status alone.
package rest
