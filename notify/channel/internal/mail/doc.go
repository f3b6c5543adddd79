// Package mail turns a [channel.Message] into an e-mail. It is what the mail
// channels share, so that the same message has the same bytes in all of them.
//
// A message is built by the library alone: values with CR, LF or NUL never
// reach a header, everything outside ASCII is encoded, and no line is longer
// than the 998 bytes of RFC 5322. Equal messages give equal bytes, since date
// and boundaries come from the message and not from the moment.
package mail
