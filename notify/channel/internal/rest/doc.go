// Package rest is what the channels have in common whose provider has a REST
// API: one request for each call, bounded in time and size, with errors that say
// whether the provider can have the message and hold nothing personal.
//
// # One request
//
// net/http sends a request a second time by itself when a kept-alive connection
// turns out to be dead; over HTTP/2 also after a GOAWAY, a stream that was refused,
// or one that was reset with PROTOCOL_ERROR, after which a gateway may well have done
// its work. Each time it must read the body again. So bodies are read once, without
// a Request.GetBody: only a request of which nothing was read goes to another
// connection. HTTP/1.1 is spoken unless Options.HTTP2 says otherwise, since a
// connection of one call tells more, and redirects are not followed.
//
// # What an error means
//
// Every error of [Client.Do] is a [channel.Error]:
//
//	no byte of the request was written     Transient: dial, DNS, TLS, a dead
//	                                       connection that was noticed in time
//	no whole answer came after that        Unknown, over HTTP/2 even where the server
//	                                       says that it has not begun
//
// An answer is the channel's to judge, by its provider's documented codes.
// [Answer.Refusal] judges by the status alone.
package rest
