package safedial

import (
	"net/url"
	"strings"
)

// maxURL is longer than the address of any receiver.
const maxURL = 2000

// Callable reports whether text is the URL of a receiver: https, or http to a
// trusted host. A user in the URL is refused, since it makes one host look like
// another, and so is a fragment, which is never sent.
func (d Dialer) Callable(text string) bool {
	u, err := url.Parse(text)
	switch {
	case err != nil, len(text) > maxURL, u.Hostname() == "", u.Opaque != "", u.User != nil, u.Fragment != "",
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }):
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && d.Trusts(u.Hostname())
}
