package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/mail"
)

var (
	_ channel.Channel      = (*Channel)(nil)
	_ channel.StatusLookup = (*Channel)(nil)
)

// Channel writes mails into a folder. It is safe for several goroutines, and
// several processes may write into the same folder.
type Channel struct {
	dir, key string
	sender   mail.Sender
}

// Options are the settings of a Channel; nil means all defaults.
type Options struct {
	// Key is the key of the channel; empty means "email:file".
	Key string
	// From is the sender, with or without a display name, such as
	// "School <office@example.com>"; empty means "belfry@localhost".
	From string
	// ReplyTo is where answers go, in the same form; empty means to From.
	ReplyTo string
}

// New returns a channel that writes into dir. It makes the folder, readable by
// its owner only; where that fails, every Send tries it again and says why. New
// panics on an empty dir and on a From or ReplyTo that is not a mail address.
func New(dir string, opts *Options) *Channel {
	if dir == "" {
		panic("file: New needs a folder")
	}
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Key == "" {
		o.Key = "email:file"
	}
	if o.From == "" {
		o.From = "belfry@localhost"
	}
	sender, err := mail.NewSender(o.From, o.ReplyTo)
	if err != nil {
		panic("file: " + err.Error())
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs // whatever becomes of the working directory
	}
	_ = os.MkdirAll(dir, dirMode) // reported by Send
	return &Channel{dir: dir, key: o.Key, sender: sender}
}

// Key returns "email:file", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// Capabilities are all that mails have.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Attachments: true, Mail: true}
}

// Send writes m, with those who get a blind copy, as "{m.ID}.eml" and returns that name as the receipt. Where the
// file exists already, it stays as it is and Send succeeds.
//
// Refusals of the content are Permanent: an address that is none, a subject or
// name with a line break, an id that was not generated. What the file system
// refuses is Transient: nothing of it counts as sent. Only where the complete
// file could not be made durable is the outcome Unknown. The context is looked
// at before anything is written; a file system that hangs is waited for.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channel.Receipt{}, channel.Transient("context", 0, err)
	}
	built, err := c.sender.Build(m)
	if err != nil {
		return channel.Receipt{}, err
	}
	if err := os.MkdirAll(c.dir, dirMode); err != nil {
		return channel.Receipt{}, refused(err)
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return channel.Receipt{}, refused(err)
	}
	defer func() { _ = root.Close() }() // it was only read from
	if built.Blind != "" {              // as a sent mail is kept; no other channel shows it
		built.Bytes = append([]byte("Bcc: "+built.Blind+"\r\n"), built.Bytes...)
	}
	return put(root, m.ID, built.Bytes)
}

// Lookup says Accepted if the file of m exists, and Absent if the folder has no
// such file. A folder that is missing or cannot be read is an error.
func (c *Channel) Lookup(ctx context.Context, m channel.Message) (channel.LookupResult, error) {
	if err := ctx.Err(); err != nil {
		return channel.LookupResult{}, err
	}
	if err := mail.CheckID(m.ID); err != nil {
		return channel.LookupResult{}, err
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return channel.LookupResult{}, err
	}
	defer func() { _ = root.Close() }() // it was only read from
	return find(root, m.ID)
}

// LookupWindow is zero: a file stays for as long as its folder.
func (c *Channel) LookupWindow() time.Duration { return 0 }

// refused is the error of a file that was not written. Whatever the reason, it
// is not the message's: disks are emptied and rights are given.
func refused(err error) error {
	code := "file"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		code = "disk-full"
	case errors.Is(err, fs.ErrPermission):
		code = "permission"
	}
	return channel.Transient(code, 0, err).Blame(channel.FaultAccount)
}
