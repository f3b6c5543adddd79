package safedial

import (
	"crypto/tls"
	"errors"
	"net"
)

// Cause names what kept a request from its receiver, without names and addresses:
// "forbidden-address", "dns", "certificate", or nothing that is known.
func Cause(err error) string {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, ErrForbidden):
		return "forbidden-address"
	case errors.As(err, &dns):
		return "dns"
	case errors.As(err, &cert):
		return "certificate"
	}
	return ""
}
