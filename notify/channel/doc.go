// Package channel is the contract between Belfry and the transports that deliver: what a
// channel is given ([Message]), what it answers ([Receipt], [Error]), and what a provider
// tells afterwards ([StatusEvent]).
//
// Those who write a channel, or call one, need nothing else: the packages below it are
// channels of well-known providers, and package notify decides what is sent and when.
package channel
