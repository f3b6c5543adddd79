package supporthttp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

// sealed begins a text that was sealed. No other text that begins so is looked for.
const sealed = "~"

// sealer hides texts from those who hand them back. The same text of a tenant is always
// sealed in the same way, so that two can be compared.
type sealer struct {
	aead  cipher.AEAD
	nonce []byte // key of the nonces
}

func newSealer(key []byte) sealer {
	if len(key) != 32 {
		panic("supporthttp: Options.Key must have 32 bytes")
	}
	block, err := aes.NewCipher(derived(key, "seal"))
	if err != nil {
		panic(err) // its length is right
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the block size
	}
	return sealer{aead, derived(key, "nonce")}
}

func derived(key []byte, what string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("belfry support " + what))
	return mac.Sum(nil)
}

// close seals a text for a tenant; an empty one stays so.
func (s sealer) close(scope storage.Scope, text string) string {
	if text == "" {
		return ""
	}
	mac := hmac.New(sha256.New, s.nonce)
	mac.Write([]byte(string(scope) + "\x00" + text))
	nonce := mac.Sum(nil)[:s.aead.NonceSize()]
	return sealed + base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, []byte(text), []byte(scope)))
}

// open gives back what was sealed for the tenant. A text that is not sealed is what it is;
// ok is false of one that was sealed otherwise.
func (s sealer) open(scope storage.Scope, text string) (plain string, ok bool) {
	code, is := strings.CutPrefix(text, sealed)
	if !is {
		return text, true
	}
	bytes, err := base64.RawURLEncoding.DecodeString(code)
	if err != nil || len(bytes) < s.aead.NonceSize() {
		return "", false
	}
	out, err := s.aead.Open(nil, bytes[:s.aead.NonceSize()], bytes[s.aead.NonceSize():], []byte(scope))
	return string(out), err == nil
}
