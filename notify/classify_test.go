package notify

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
)

func TestErrorsOfChannelsAreClassified(t *testing.T) {
	t.Parallel()
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	read := func(err error) error { return &net.OpError{Op: "read", Net: "tcp", Err: err} }
	for name, c := range map[string]struct {
		err  error
		want SendClass
	}{
		"permanent":             {Permanent("550", nil), ClassPermanent},
		"wrapped permanent":     {fmt.Errorf("smtp: %w", Permanent("550", io.EOF)), ClassPermanent},
		"transient":             {Transient("busy", time.Second, context.DeadlineExceeded), ClassTransient},
		"unknown":               {Unknown("lost", errors.New("x")), ClassUnknown},
		"plain":                 {errors.New("bad request"), ClassTransient},
		"context cancelled":     {fmt.Errorf("send: %w", context.Canceled), ClassUnknown},
		"context deadline":      {context.DeadlineExceeded, ClassUnknown},
		"time-out":              {read(os.ErrDeadlineExceeded), ClassUnknown},
		"EOF":                   {fmt.Errorf("read: %w", io.EOF), ClassUnknown},
		"unexpected EOF":        {io.ErrUnexpectedEOF, ClassUnknown},
		"connection reset":      {read(os.NewSyscallError("read", syscall.ECONNRESET)), ClassUnknown},
		"broken pipe":           {read(syscall.EPIPE), ClassUnknown},
		"panic":                 {&work.PanicError{Value: "x"}, ClassUnknown},
		"refused":               {dial(syscall.ECONNREFUSED), ClassTransient},
		"dial time-out":         {dial(context.DeadlineExceeded), ClassTransient},
		"dial reset":            {dial(syscall.ECONNRESET), ClassTransient},
		"DNS":                   {dial(&net.DNSError{Err: "no such host", IsTimeout: true}), ClassTransient},
		"certificate":           {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, ClassTransient},
		"TLS record":            {tls.RecordHeaderError{Msg: "not TLS"}, ClassTransient},
		"TLS handshake timeout": {fmt.Errorf("post: %w", handshakeTimeout{}), ClassTransient},
	} {
		if got := Classify(c.err); got.Class != c.want {
			t.Errorf("%s: %s, want %s", name, got.Class, c.want)
		} else if !errors.Is(c.err, got) && !errors.Is(got, c.err) {
			t.Errorf("%s: the cause is lost", name)
		}
	}
	if got := Classify(nil); got != nil {
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
		"notify: Permanent send error 550: no such user": Permanent("550", errors.New("no such user")),
		"notify: Transient send error busy":              Transient("busy", 0, nil),
		"notify: Unknown send error: EOF":                Unknown("", io.EOF),
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if !errors.Is(Unknown("", io.EOF), io.EOF) {
		t.Error("the cause is lost")
	}
}
