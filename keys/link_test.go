package keys_test

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
)

func TestALinkTokenIsOfOneKeyAndOneInstance(t *testing.T) {
	t.Parallel()
	const one, other = "8f3a1c4e-0b1d-4c2e-9f3a-5b6c7d8e9f00", "8f3a1c4e-0b1d-4c2e-9f3a-5b6c7d8e9f01"
	token := keys.LinkToken(hmacKey, one)
	if len(token) != keys.LinkTokenLen || !strings.HasPrefix(token, keys.LinkKeyID(hmacKey)) || strings.Trim(token, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("the token is %q", token)
	}
	id := keys.LinkKeyID(hmacKey)
	for name, differs := range map[string]string{
		"another instance": keys.LinkToken(hmacKey, other)[len(id):],
		"another key":      keys.LinkToken(hmacKey[:31], one)[len(id):],
	} {
		if token[len(id):] == differs {
			t.Errorf("%s has the same secret part", name)
		}
	}
	if keys.LinkKeyID(hmacKey[:31]) == id {
		t.Error("two keys have one id")
	}
}
