// Package file is the mail channel without a provider: it writes each message
// as one complete .eml file into a folder, where any mail program opens it. It
// is for demos, for development, and for hosts whose mail another program
// picks up.
//
// A file gets its name, the message id and ".eml", only when it is complete and on disk,
// and is never replaced. So the folder answers what became of a message whose process
// died while it was sent, and no such message stays in doubt. This holds as long as files
// are not taken away: where a pick-up program does, it must keep the names until their
// messages are settled, or a message in doubt is taken for absent and written again.
//
// The file system must support hard links. A crash can leave a temporary file
// behind, whose name begins with a dot and ends in ".tmp"; it is never taken
// for a message and may be deleted.
package file
