package notify_test

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
	"github.com/belfry-go/belfry/notify"
)

//spec:f-022
func TestErrorsOfChannelsAreClassified(t *testing.T) {
	t.Parallel()
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	read := func(err error) error { return &net.OpError{Op: "read", Net: "tcp", Err: err} }
	for name, c := range map[string]struct {
		err  error
		want notify.SendClass
	}{
		"permanent":             {notify.Permanent("550", nil), notify.ClassPermanent},
		"wrapped permanent":     {fmt.Errorf("smtp: %w", notify.Permanent("550", io.EOF)), notify.ClassPermanent},
		"transient":             {notify.Transient("busy", time.Second, context.DeadlineExceeded), notify.ClassTransient},
		"unknown":               {notify.Unknown("lost", errors.New("x")), notify.ClassUnknown},
		"plain":                 {errors.New("bad request"), notify.ClassTransient},
		"context cancelled":     {fmt.Errorf("send: %w", context.Canceled), notify.ClassUnknown},
		"context deadline":      {context.DeadlineExceeded, notify.ClassUnknown},
		"time-out":              {read(os.ErrDeadlineExceeded), notify.ClassUnknown},
		"EOF":                   {fmt.Errorf("read: %w", io.EOF), notify.ClassUnknown},
		"unexpected EOF":        {io.ErrUnexpectedEOF, notify.ClassUnknown},
		"connection reset":      {read(os.NewSyscallError("read", syscall.ECONNRESET)), notify.ClassUnknown},
		"broken pipe":           {read(syscall.EPIPE), notify.ClassUnknown},
		"panic":                 {&work.PanicError{Value: "x"}, notify.ClassUnknown},
		"refused":               {dial(syscall.ECONNREFUSED), notify.ClassTransient},
		"dial time-out":         {dial(context.DeadlineExceeded), notify.ClassTransient},
		"dial reset":            {dial(syscall.ECONNRESET), notify.ClassTransient},
		"DNS":                   {dial(&net.DNSError{Err: "no such host", IsTimeout: true}), notify.ClassTransient},
		"certificate":           {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, notify.ClassTransient},
		"TLS record":            {tls.RecordHeaderError{Msg: "not TLS"}, notify.ClassTransient},
		"TLS handshake timeout": {fmt.Errorf("post: %w", handshakeTimeout{}), notify.ClassTransient},
	} {
		if got := notify.Classify(c.err); got.Class != c.want {
			t.Errorf("%s: %s, want %s", name, got.Class, c.want)
		} else if !errors.Is(c.err, got) && !errors.Is(got, c.err) {
			t.Errorf("%s: the cause is lost", name)
		}
	}
	if got := notify.Classify(nil); got != nil {
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
		"notify: Permanent send error 550: no such user": notify.Permanent("550", errors.New("no such user")),
		"notify: Transient send error busy":              notify.Transient("busy", 0, nil),
		"notify: Unknown send error: EOF":                notify.Unknown("", io.EOF),
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if !errors.Is(notify.Unknown("", io.EOF), io.EOF) {
		t.Error("the cause is lost")
	}
}
