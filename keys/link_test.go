package keys_test

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/keys"
)

func TestALinkTokenIsOfOneKeyAndOneInstance(t *testing.T) {
	t.Parallel()
	const one, another = "8f3a1c4e-0b1d-4c2e-9f3a-5b6c7d8e9f00", "8f3a1c4e-0b1d-4c2e-9f3a-5b6c7d8e9f01"
	key, other := keys.NewLinkKey(hmacKey), keys.NewLinkKey(hmacKey[:31])
	token := key.Token(one)
	if len(token) != keys.LinkTokenLen || !strings.HasPrefix(token, key.ID()) || strings.Trim(token, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("the token is %q", token)
	}
	for name, differs := range map[string]string{"another instance": key.Token(another), "another key": other.Token(one)} {
		if token[8:] == differs[8:] {
			t.Errorf("%s has the same secret part", name)
		}
	}
	if other.ID() == key.ID() || (keys.LinkKey{}).ID() != "" {
		t.Error("two keys have one id")
	}
}
