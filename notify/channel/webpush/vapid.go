package webpush

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/jws"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// sender proves to push services who sends (RFC 8292).
type sender struct {
	public, contact string
	sign            jws.Signer
}

func newSender(privateKey, contact string, f *rest.Faults) sender {
	f.Add(!reachable(contact), "contact is not an address of the form mailto:… or https://…")
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), decode(privateKey))
	if err != nil {
		f.Add(true, "privateKey is not 32 bytes of a key of P-256 in base64url")
		return sender{}
	}
	public, err := key.PublicKey.Bytes()
	f.Add(err != nil, "privateKey is not a valid key of P-256")
	sign, err := jws.New(key, "")
	f.Add(err != nil, "privateKey does not sign")
	return sender{base64.RawURLEncoding.EncodeToString(public), contact, sign}
}

func reachable(contact string) bool {
	u, err := url.Parse(contact)
	return err == nil && (u.Scheme == "mailto" && strings.Contains(u.Opaque, "@") || u.Scheme == "https" && u.Host != "")
}

// life is that of a proof, of 24 hours that it may have.
const life = 12 * time.Hour

type claims struct {
	Audience string `json:"aud"`
	Expires  int64  `json:"exp"`
	Contact  string `json:"sub"`
}

// about are the claims to the push service of an endpoint.
func (s sender) about(endpoint string, on time.Time) (claims, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return claims{}, err
	}
	return claims{u.Scheme + "://" + u.Host, on.Add(life).Unix(), s.contact}, nil
}

// proof is the Authorization of a request.
func (s sender) proof(endpoint string, on time.Time) (string, error) {
	c, err := s.about(endpoint, on)
	if err != nil { // which would quote it
		return "", channel.Permanent("address", errors.New("webpush: endpoint is not an address")).Blame(channel.FaultAddress)
	}
	token, err := s.sign(c)
	if err != nil {
		return "", channel.Transient("token", 0, errors.New("webpush: the key does not sign")).Blame(channel.FaultAccount)
	}
	return "vapid t=" + token + ", k=" + s.public, nil
}
