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

// ErrUnusable never contains the address, which is personal.
var ErrUnusable = errors.New("the delivery method cannot deliver to this address")

// Of gives an address its one spelling, so that one person does not get
// a message twice: E.164 for phones, an ASCII domain for mail.
func Of(method, address string) (string, error) {
	address = strings.TrimFunc(address, func(r rune) bool { return unicode.IsSpace(r) || unseen(r) })
	if address == "" || strings.ContainsFunc(address, unicode.IsControl) {
		return "", ErrUnusable
	}
	switch method {
	case "email":
		return mailbox(seen(address))
	case "sms", "whatsapp", "voice":
		return phone(strings.Map(visible, address))
	}
	return address, nil
}

// unseen are invisible characters: marks of order and direction, joiners, blanks of no
// width, soft hyphens, selectors. They come along when an address is copied.
func unseen(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == 0x034f
}

func visible(r rune) rune {
	if unseen(r) {
		return -1
	}
	return r
}

// seen is a mail address without invisible characters. In a domain joiners may be
// significant.
func seen(address string) string {
	at := strings.LastIndexByte(address, '@')
	domain := strings.Map(func(r rune) rune {
		if r == 0x200c || r == 0x200d {
			return r
		}
		return visible(r)
	}, address[at+1:])
	return strings.Map(visible, address[:at+1]) + domain
}

// mailbox leaves the local part alone, which some servers compare with case. The
// domain is in the form that every server takes: lower case, and Punycode.
func mailbox(address string) (string, error) {
	parsed, err := mail.ParseAddress(address)
	at := strings.LastIndexByte(address, '@')
	if err != nil || parsed.Address != address || at < 0 || strings.ContainsFunc(address, wideSpace) {
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

// wideSpace are blanks that no mailbox has, and that look like the one which ends a name.
func wideSpace(r rune) bool { return r >= utf8.RuneSelf && unicode.IsSpace(r) }

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
// different people in different countries. An extension cannot be written to.
func phone(address string) (string, error) {
	number, err := phonenumbers.Parse(address, "")
	if err == nil {
		withoutOldPrefix(number)
	}
	switch {
	case err != nil || number.GetExtension() != "":
		return "", ErrUnusable
	case phonenumbers.IsPossibleNumberWithReason(number) != phonenumbers.IS_POSSIBLE:
		return "", ErrUnusable // too long, too short, or of one area only
	}
	return phonenumbers.Format(number, phonenumbers.E164), nil
}

// withoutOldPrefix takes away the 1 that mobile numbers of Mexico had until 2019, and that
// WhatsApp still writes: with and without it they are one telephone.
func withoutOldPrefix(number *phonenumbers.PhoneNumber) {
	const mexico, prefix = 52, 10_000_000_000
	if n := number.GetNationalNumber(); number.GetCountryCode() == mexico && n/prefix == 1 {
		n -= prefix
		number.NationalNumber = &n
	}
}

// Hash stands for a recipient, who is the same in every spelling of an address in its
// normal form. Without a ref it stands for the address.
func Hash(key []byte, ref, method, normal string) string {
	return keys.RecipientHash(key, ref, method, Folded(method, normal))
}
