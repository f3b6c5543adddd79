package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
)

var errStrange = errors.New("what came is no answer")

// safe returns the part of an error's chain that comes from the network. Other
// errors of net/http quote what the server sent, or what it was sent.
func safe(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, errTooLong, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var network net.Error
	switch {
	case errors.As(err, &cert):
		return cert
	case errors.As(err, &record):
		return record
	case errors.As(err, &network):
		return network
	}
	return errStrange
}
