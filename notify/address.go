package notify

import (
	"encoding/hex"
	"errors"
	"net/mail"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"github.com/belfry-go/belfry/keys"
)

// errAddress never holds the address, which is personal.
var errAddress = errors.New("the address is not one that its method can deliver to")

// NormaliseAddress gives the spelling of an address in which gates, the list of
// suppressed addresses and channels know it: E.164 for the methods sms, whatsapp and
// voice, a lower-case domain for email, and no spaces around any other. The error
// says that the method cannot deliver to it, and never holds it.
func NormaliseAddress(method, address string) (string, error) { return normalise(method, address) }

// normalise gives an address its one spelling, so that one person does not get
// a message twice: E.164 for phones, a lower-case domain for mail.
func normalise(method, address string) (string, error) {
	address = strings.TrimSpace(address)
	if address == "" || strings.ContainsFunc(address, unicode.IsControl) {
		return "", errAddress
	}
	switch method {
	case "email":
		return normaliseMail(address)
	case "sms", "whatsapp", "voice":
		return normalisePhone(address)
	}
	return address, nil
}

// normaliseMail leaves the local part alone, which some servers compare with case.
func normaliseMail(address string) (string, error) {
	parsed, err := mail.ParseAddress(address)
	at := strings.LastIndexByte(address, '@')
	if err != nil || parsed.Address != address || at < 0 {
		return "", errAddress
	}
	return address[:at] + strings.ToLower(address[at:]), nil
}

// normalisePhone wants the international form, since a national one means
// different people in different countries.
func normalisePhone(address string) (string, error) {
	number, err := phonenumbers.Parse(address, "")
	if err != nil || !phonenumbers.IsPossibleNumber(number) {
		return "", errAddress
	}
	return phonenumbers.Format(number, phonenumbers.E164), nil
}

// redacted stands for a text that may be personal where only equality matters.
func redacted(text string) string {
	sum := keys.Sum("belfry-redacted-1", text)
	return "#" + hex.EncodeToString(sum[:6])
}
