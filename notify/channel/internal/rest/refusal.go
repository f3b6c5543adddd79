package rest

import (
	"net/http"
	"strconv"

	"github.com/belfry-go/belfry/notify"
)

// maxCode is longer than the code of any provider.
const maxCode = 40

// Refusal is the error of an answer that does not accept, by its status alone
// (RFC 9110, section 15; RFC 6585, section 4; RFC 8470, section 5.2):
//
//	401, 403, 407     Transient: the credentials are wrong, not the message
//	408, 425, 429     Transient
//	other 4xx         Permanent
//	503               Transient
//	3xx               Transient: nothing was followed
//	1xx, 2xx, others  Unknown: an answer that should not be, or a server that
//	of 5xx            failed at a point that it does not tell
//
// code is the provider's own, kept beside the status; what does not look like one
// is dropped. Where a provider documents its codes, the channel decides first.
func (a *Answer) Refusal(code string) *notify.SendError {
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooEarly, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return a.Transient(code)
	}
	switch a.Status / 100 {
	case 3:
		return a.Transient(code)
	case 4:
		return a.Permanent(code)
	}
	return a.Unknown(code)
}

// Permanent says that the provider refused the message for good.
func (a *Answer) Permanent(code string) *notify.SendError {
	return notify.Permanent(a.code(code), a.cause(code))
}

// Transient says that the provider did not accept the message now, with the
// answer's Retry-After.
func (a *Answer) Transient(code string) *notify.SendError {
	return notify.Transient(a.code(code), a.RetryAfter(), a.cause(code))
}

// Unknown says that the answer leaves open whether the provider has the message.
func (a *Answer) Unknown(code string) *notify.SendError {
	return notify.Unknown(a.code(code), a.cause(code))
}

// code is the status, and what the provider calls it: "400 21211".
func (a *Answer) code(code string) string {
	text := strconv.Itoa(a.Status)
	if code = Code(code); code != "" {
		text += " " + code
	}
	return text
}

func (a *Answer) cause(code string) error { return a.client.fail("answer %s", a.code(code)) }

// Code returns a provider's code if it looks like one, and else nothing: at most
// 40 ASCII letters, digits, '_', '-' and '.', and no run of more than 6 digits,
// which may be a phone number.
func Code(code string) string {
	digits := 0
	for _, r := range code {
		switch {
		case '0' <= r && r <= '9':
			if digits++; digits > 6 {
				return ""
			}
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', r == '_', r == '-', r == '.':
			digits = 0
		default:
			return ""
		}
	}
	if len(code) > maxCode {
		return ""
	}
	return code
}
