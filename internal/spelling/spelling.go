// Package spelling brings the addresses of people into one spelling.
package spelling

import (
	"errors"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"github.com/belfry-go/belfry/keys"
)

// ErrUnusable never holds the address, which is personal.
var ErrUnusable = errors.New("the address is not one that its method can deliver to")

// Of gives an address its one spelling, so that one person does not get
// a message twice: E.164 for phones, an ASCII domain for mail.
func Of(method, address string) (string, error) {
	address = strings.TrimSpace(address)
	if address == "" || strings.ContainsFunc(address, unicode.IsControl) {
		return "", ErrUnusable
	}
	switch method {
	case "email":
		return mailbox(address)
	case "sms", "whatsapp", "voice":
		return phone(address)
	}
	return address, nil
}

// mailbox leaves the local part alone, which some servers compare with case. The
// domain is in the form that every server takes: lower case, and Punycode.
func mailbox(address string) (string, error) {
	parsed, err := mail.ParseAddress(address)
	at := strings.LastIndexByte(address, '@')
	if err != nil || parsed.Address != address || at < 0 {
		return "", ErrUnusable
	}
	domain := strings.ToLower(address[at+1:])
	if strings.ContainsFunc(domain, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if domain, err = domains.ToASCII(address[at+1:]); err != nil {
			return "", ErrUnusable
		}
	}
	return address[:at+1] + domain, nil
}

// domains are as they are looked up today (UTS 46, nontransitional).
var domains = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.VerifyDNSLength(true))

// Folded is an address, in its normal form, as it is compared: hardly a server tells
// mailboxes apart by case, and who has left one has left both.
func Folded(method, address string) string {
	if method == "email" {
		return strings.ToLower(norm.NFC.String(address))
	}
	return address
}

// phone wants the international form, since a national one means
// different people in different countries.
func phone(address string) (string, error) {
	number, err := phonenumbers.Parse(address, "")
	if err != nil || !phonenumbers.IsPossibleNumber(number) {
		return "", ErrUnusable
	}
	return phonenumbers.Format(number, phonenumbers.E164), nil
}

// Hash stands for a recipient, who is the same in every spelling of an address in its
// normal form. Without a ref it stands for the address.
func Hash(key []byte, ref, method, normal string) string {
	return keys.RecipientHash(key, ref, method, Folded(method, normal))
}
