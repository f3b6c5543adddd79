package rest

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// Faults collects what is wrong with a channel's settings, so that all of it is
// said at once. No method quotes a value that may hold a credential.
type Faults []string

// Add notes a fault if there is one.
func (f *Faults) Add(is bool, text string) {
	if is {
		*f = append(*f, text)
	}
}

// Err is an error that lists the faults, or nil if there are none.
func (f Faults) Err(provider string) error {
	if len(f) == 0 {
		return nil
	}
	return errors.New(provider + ": " + strings.Join(f, "; "))
}

// Secret refuses what cannot be a credential in a header: nothing, or anything
// but visible ASCII.
func (f *Faults) Secret(name, value string) {
	f.Add(value == "", name+" is required")
	f.Add(strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }),
		name+" holds a space, a line break or what is not ASCII")
}

// BaseURL returns the address of an API without a slash at its end. It must be
// https, or http to this very machine, where tests have their servers: whoever
// calls shows credentials.
func (f *Faults) BaseURL(name, text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		f.Add(true, name+" is no address of the form https://host/path")
		return ""
	}
	f.Add(u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())), name+" is not https")
	return strings.TrimRight(u.String(), "/")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
