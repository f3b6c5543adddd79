package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/belfry-go/belfry/internal/work"
)

// Classify says what an error of [Channel.Send] means. A *[SendError] in its
// chain speaks for itself; see [Channel] for the others. It returns nil for
// nil. Decorators of channels may use it.
func Classify(err error) *SendError {
	var typed *SendError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return typed
	case isPanic(err):
		return Unknown("panic", err)
	case neverSent(err):
		return Transient("connect", 0, err)
	case interrupted(err):
		return Unknown("interrupted", err)
	}
	return Transient("error", 0, err)
}

func isPanic(err error) bool {
	var p *work.PanicError
	return errors.As(err, &p)
}

// neverSent reports errors that come before the first byte of a request.
func neverSent(err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial" || isHandshake(err)
}

func isHandshake(err error) bool {
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	return errors.As(err, &record) || errors.As(err, &cert) ||
		strings.Contains(err.Error(), "TLS handshake timeout") // net/http does not export its type
}

// interrupted reports errors after which the provider may have the message.
func interrupted(err error) bool {
	var n net.Error
	for _, target := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, target) {
			return true
		}
	}
	return errors.As(err, &n) && n.Timeout()
}
