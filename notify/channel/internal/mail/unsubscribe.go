package mail

import (
	"net/url"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// setUnsubscribe lets mail programs offer a button (RFC 2369, RFC 8058).
func setUnsubscribe(msg *gomail.Msg, address string) {
	if address == "" {
		return
	}
	msg.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+address+">")
	msg.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
}

// unsubscribable accepts nothing, and what may stand between angle brackets.
func unsubscribable(address string) bool {
	if address == "" {
		return true
	}
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != "" && len(address) <= maxHeader &&
		!strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("<>,", r) }) &&
		!encodedWord.MatchString(address)
}
