package smtp

import (
	"cmp"
	"errors"
	"net"
	"strconv"
	"strings"
)

// errAddress does not quote the address, in which a careless host may have put
// a password.
var errAddress = errors.New("smtp: the address of the server is neither host nor host:port")

// splitAddress reads a host with or without a port.
func splitAddress(addr, defaultPort string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(addr)
	if err != nil { // no port
		host, port = strings.Trim(addr, "[]"), ""
	}
	port = cmp.Or(port, defaultPort)
	number, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil, number == 0,
		host == "", strings.ContainsAny(host, " \t\r\n\x00/@"),
		strings.Contains(host, ":") && net.ParseIP(host) == nil:
		return "", "", errAddress
	}
	return host, port, nil
}
