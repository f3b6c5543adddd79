package smtp

import (
	"cmp"
	"crypto/tls"
	"os"
	"time"
)

// Options are the settings of a Channel. From is required.
type Options struct {
	// Key is the key of the channel; empty means "email:smtp".
	Key string
	// From is the sender, with or without a display name, such as
	// "School <office@example.com>". Its address is the envelope's sender too,
	// and its domain that of every Message-ID.
	From string
	// ReplyTo is where answers go, in the same form; empty means to From.
	ReplyTo string
	// Username and Password log in; with an empty Username the channel does
	// not. The mechanism is the first that the server offers of SCRAM-SHA-256,
	// PLAIN and LOGIN, or CRAM-MD5. Where the connection is not encrypted, PLAIN
	// and LOGIN are used with this very machine only.
	Username, Password string
	// TLS is how the connection is encrypted; the zero value is StartTLS.
	TLS TLS
	// TLSConfig is cloned, and gets the ServerName if it has none. Nil means the
	// system's roots and TLS 1.2 or later.
	TLSConfig *tls.Config
	// Helo is the name that the channel gives to the server; empty means the
	// machine's.
	Helo string
	// Timeout bounds one Send from the moment it has its turn, in real time.
	// Zero means a minute.
	Timeout time.Duration
	// MaxConns bounds the connections, and so the Sends at work; others wait
	// for their turn. Zero means 4.
	MaxConns int
	// IdleTimeout is how long an unused connection is kept, in real time. Zero
	// means 30 seconds. Most servers close it themselves after some minutes.
	IdleTimeout time.Duration
}

// TLS says how a connection is encrypted.
type TLS int

// The policies. None falls back to plain text by itself.
const (
	// StartTLS upgrades the connection before anything else is said, and sends
	// nothing to a server that cannot. The port is 587 unless it is given.
	StartTLS TLS = iota
	// ImplicitTLS encrypts from the first byte on; port 465.
	ImplicitTLS
	// NoTLS sends in plain text, which is for a server on the same machine or
	// in the same trusted network; port 25.
	NoTLS
)

// port is what is used where the address has none.
func (t TLS) port() string {
	return map[TLS]string{StartTLS: "587", ImplicitTLS: "465", NoTLS: "25"}[t]
}

func (o Options) withDefaults() Options {
	o.Key = cmp.Or(o.Key, "email:smtp")
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.MaxConns = cmp.Or(o.MaxConns, 4)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 30*time.Second)
	if o.Helo == "" {
		o.Helo, _ = os.Hostname() // unknown: see next
		o.Helo = cmp.Or(o.Helo, "localhost")
	}
	return o
}
