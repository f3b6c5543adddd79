package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
)

// subscription is where a browser gets its messages, and the keys by which it reads them.
type subscription struct {
	endpoint string
	key      *ecdh.PublicKey
	auth     []byte
}

// parse reads a PushSubscription as the browser writes it in JSON.
func parse(text string) (s subscription, ok bool) {
	var given struct {
		Endpoint string `json:"endpoint"`
		Keys     struct {
			P256dh string `json:"p256dh"`
			Auth   string `json:"auth"`
		} `json:"keys"`
	}
	if json.Unmarshal([]byte(text), &given) != nil {
		return s, false
	}
	key, err := ecdh.P256().NewPublicKey(decode(given.Keys.P256dh))
	auth := decode(given.Keys.Auth)
	return subscription{given.Endpoint, key, auth}, err == nil && len(auth) == 16
}

// decode is for base64url, with padding or without; what is none is empty.
func decode(text string) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil
	}
	return raw
}

const (
	saltSize = 16
	record   = 4096 // bytes of a body, which every push service takes
	head     = saltSize + 4 + 1 + 65
	maxText  = record - head - 1 - 16 // beside them a delimiter and the tag
)

// encrypt is by a key that is used once.
func (s subscription) encrypt(text []byte) ([]byte, error) {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	once, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, channel.Transient("random", 0, errors.New("webpush: random bytes are not available"))
	}
	body, err := s.seal(text, once, salt)
	if err != nil {
		return nil, channel.Permanent("encryption", errors.New("webpush: content cannot be encrypted")).Blame(channel.FaultAddress)
	}
	return body, nil
}

// seal makes a body of one record (RFC 8188, section 2; RFC 8291, section 3.4).
func (s subscription) seal(text []byte, once *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	shared, err := once.ECDH(s.key)
	if err != nil {
		return nil, err
	}
	sender := once.PublicKey().Bytes()
	input, err := hkdf.Key(sha256.New, shared, s.auth, "WebPush: info\x00"+string(s.key.Bytes())+string(sender), 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	out := binary.BigEndian.AppendUint32(append([]byte(nil), salt...), record)
	out = append(append(out, byte(len(sender))), sender...)
	return gcm.Seal(out, nonce, append(append([]byte(nil), text...), 2), nil), nil // 2: the last record
}
