// Package slogchannel is the channel for development: it writes a structured log
// record for each message and sends nothing. A record says which message it was
// and how large its parts are. Addresses, names and texts are personal, so they
// are left out unless Options.Unredacted says otherwise.
//
// Every message is accepted, attachments included, whatever becomes of the
// record: a logger does not tell.
package slogchannel
