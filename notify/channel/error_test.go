package channel_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify/channel"
)

func TestErrorsOfChannelsAreClassified(t *testing.T) {
	t.Parallel()
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	read := func(err error) error { return &net.OpError{Op: "read", Net: "tcp", Err: err} }
	for name, c := range map[string]struct {
		err  error
		want channel.Class
	}{
		"permanent":             {channel.Permanent("550", nil), channel.ClassPermanent},
		"wrapped permanent":     {fmt.Errorf("smtp: %w", channel.Permanent("550", io.EOF)), channel.ClassPermanent},
		"transient":             {channel.Transient("busy", time.Second, context.DeadlineExceeded), channel.ClassTransient},
		"unknown":               {channel.Unknown("lost", errors.New("x")), channel.ClassUnknown},
		"plain":                 {errors.New("bad request"), channel.ClassTransient},
		"context cancelled":     {fmt.Errorf("send: %w", context.Canceled), channel.ClassUnknown},
		"context deadline":      {context.DeadlineExceeded, channel.ClassUnknown},
		"time-out":              {read(os.ErrDeadlineExceeded), channel.ClassUnknown},
		"EOF":                   {fmt.Errorf("read: %w", io.EOF), channel.ClassUnknown},
		"unexpected EOF":        {io.ErrUnexpectedEOF, channel.ClassUnknown},
		"connection reset":      {read(os.NewSyscallError("read", syscall.ECONNRESET)), channel.ClassUnknown},
		"broken pipe":           {read(syscall.EPIPE), channel.ClassUnknown},
		"panic":                 {&work.PanicError{Value: "x"}, channel.ClassUnknown},
		"refused":               {dial(syscall.ECONNREFUSED), channel.ClassTransient},
		"dial time-out":         {dial(context.DeadlineExceeded), channel.ClassTransient},
		"dial reset":            {dial(syscall.ECONNRESET), channel.ClassTransient},
		"DNS":                   {dial(&net.DNSError{Err: "no such host", IsTimeout: true}), channel.ClassTransient},
		"certificate":           {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, channel.ClassTransient},
		"TLS record":            {tls.RecordHeaderError{Msg: "not TLS"}, channel.ClassTransient},
		"TLS handshake timeout": {fmt.Errorf("post: %w", handshakeTimeout{}), channel.ClassTransient},
	} {
		if got := channel.Classify(c.err); got.Class != c.want {
			t.Errorf("%s: %s, want %s", name, got.Class, c.want)
		} else if !errors.Is(c.err, got) && !errors.Is(got, c.err) {
			t.Errorf("%s: the cause is lost", name)
		}
	}
	if got := channel.Classify(nil); got != nil {
		t.Errorf("nil is %v", got)
	}
}

// handshakeTimeout is what net/http returns.
type handshakeTimeout struct{}

func (handshakeTimeout) Error() string   { return "net/http: TLS handshake timeout" }
func (handshakeTimeout) Timeout() bool   { return true }
func (handshakeTimeout) Temporary() bool { return true }

func TestSendErrorsSayWhatHappened(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"channel: Permanent send error 550: no such user": channel.Permanent("550", errors.New("no such user")),
		"channel: Transient send error busy":              channel.Transient("busy", 0, nil),
		"channel: Unknown send error: EOF":                channel.Unknown("", io.EOF),
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if !errors.Is(channel.Unknown("", io.EOF), io.EOF) {
		t.Error("the cause is lost")
	}
}
