// Package jws signs what providers of push services ask for: JSON Web Tokens (RFC 7515,
// RFC 7519) with RS256 and ES256.
package jws

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
)

// Signer makes a token of claims. It is a function, so that no printed channel shows the
// key.
type Signer func(claims any) (string, error)

type header struct {
	Alg string `json:"alg"`
	Typ string `json:"typ"`
	Kid string `json:"kid,omitempty"`
}

var errKey = errors.New("it is not a PEM with a private key of RSA, 2048 bits or more, or of P-256")

// Parse reads a private key in PEM: PKCS #8, PKCS #1 or SEC 1. id is the "kid" of its
// tokens; empty: they have none. The error holds nothing of the key.
func Parse(text []byte, id string) (Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errKey
	}
	return New(private(block.Bytes), id)
}

// New signs with an RSA key of at least 2048 bits, or with one of P-256.
func New(key crypto.Signer, id string) (Signer, error) {
	h := header{Typ: "JWT", Kid: id}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		h.Alg = "RS256"
		if k.N.BitLen() < 2048 {
			return nil, errKey
		}
	case *ecdsa.PrivateKey:
		h.Alg = "ES256"
		if k.Curve != elliptic.P256() {
			return nil, errKey
		}
	default:
		return nil, errKey
	}
	head, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return func(claims any) (string, error) {
		body, err := json.Marshal(claims)
		if err != nil {
			return "", err
		}
		return token(key, head, body)
	}, nil
}

func private(der []byte) crypto.Signer {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		signer, _ := key.(crypto.Signer)
		return signer
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key
	}
	return nil
}

// token is the compact serialization.
func token(key crypto.Signer, head, body []byte) (string, error) {
	encode := base64.RawURLEncoding.EncodeToString
	input := encode(head) + "." + encode(body)
	sum := sha256.Sum256([]byte(input))
	signature, err := key.Sign(nil, sum[:], crypto.SHA256) // both are deterministic without randomness
	if _, ok := key.(*ecdsa.PrivateKey); ok && err == nil {
		signature, err = flat(signature)
	}
	if err != nil {
		return "", err
	}
	return input + "." + encode(signature), nil
}

// flat is R and S, 32 bytes each (RFC 7518, section 3.4).
func flat(der []byte) ([]byte, error) {
	var s struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &s); err != nil {
		return nil, err
	}
	out := make([]byte, 64)
	s.R.FillBytes(out[:32])
	s.S.FillBytes(out[32:])
	return out, nil
}
