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
