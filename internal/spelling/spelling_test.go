package spelling

import (
	"strings"
	"testing"
)

func TestAddressesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"email", " Sam.Miller@EXAMPLE.Com ", "Sam.Miller@example.com"},
		{"email", "sam+tag@example.com", "sam+tag@example.com"},
		{"email", "sam@bücher.example", "sam@xn--bcher-kva.example"},
		{"email", "sam@BÜCHER.Example", "sam@xn--bcher-kva.example"},
		{"email", "sam@bu\u0308cher.example", "sam@xn--bcher-kva.example"},
		{"email", "sam@XN--BCHER-KVA.example", "sam@xn--bcher-kva.example"},
		{"email", "Jörg@straße.example", "Jörg@xn--strae-oqa.example"},
		{"email", "sam@under_score.example", "sam@under_score.example"},
		{"email", "sam@例え。テスト", "sam@xn--r8jz45g.xn--zckzah"},
		{"sms", "+353 87 123 4567", "+353871234567"},
		{"whatsapp", "+353-(0)87-1234567", "+353871234567"},
		{"email", "\ufeffsam@example.com", "sam@example.com"},
		{"email", "sa\u200bm@example.com\u200b", "sam@example.com"},
		{"email", "s\u00ada\u200dm\ufe0f@exam\u00adple.com", "sam@example.com"},
		{"email", "\u202asam@example.com\u202c\u00a0", "sam@example.com"},
		{"email", "\u2066sam\u2060@example.com\u2069", "sam@example.com"},
		{"sms", "\u202a+353 87 123 4567\u202c", "+353871234567"},
		{"sms", "+49 151/1234-5678", "+4915112345678"},
		{"sms", "+353\u00a087\u200b\u00a0123\u00a04567", "+353871234567"},
		{"sms", "+353\u201187\u2011123\u20114567", "+353871234567"},
		{"sms", "\uff0b\uff13\uff15\uff13 87 123 4567", "+353871234567"},
		{"whatsapp", "+52 1 55 1234 5678", "+525512345678"},
		{"sms", "+52 55 1234 5678", "+525512345678"},
		{"whatsapp", "+54 9 11 2345 6789", "+5491123456789"},
		{"webhook", "\ufeffhttps://example.com/path\u200b", "https://example.com/path"},
		{"webhook", " https://example.com/Path ", "https://example.com/Path"},
	} {
		got, err := Of(c[0], c[1])
		if err != nil || got != c[2] {
			t.Errorf("%s %q: %q, %v", c[0], c[1], got, err)
		}
	}
}

func TestAddressesThatCannotBeReachedAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"email", ""}, {"email", "  "}, {"email", "sam"}, {"email", "sam@"}, {"email", "Sam <sam@example.com>"},
		{"email", "sam@example.com, kim@example.com"}, {"email", "sam@example.com\r\nBcc: kim@example.com"},
		{"email", "sam@\u00ad.example"}, {"email", "sam@xn--\u00fc.example"}, {"email", "sam@a\u200d.\u00fc"},
		{"email", "sam\u00a0m@example.com"}, {"email", "sam\u2003@example.com"}, {"email", "\u200b\ufeff"},
		{"sms", "+1 555 0100"}, {"sms", "+1 212 555 0100 x5"}, {"sms", "+1 212 555 0100 ext. 5"}, {"sms", "+353871234567 / +353871234568"},
		{"sms", "087 123 4567"}, {"sms", "+1"}, {"sms", "call me"}, {"webhook", "a\nb"},
	} {
		got, err := Of(c[0], c[1])
		if err == nil {
			t.Errorf("%s %q: accepted as %q", c[0], c[1], got)
		} else if c[1] != "" && strings.Contains(err.Error(), c[1]) {
			t.Errorf("the error shows the address: %v", err)
		}
	}
}
