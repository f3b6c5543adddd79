package jws

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
)

// What RFC 7515 signs in its appendix A.
const payload = "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"

func number(t *testing.T, text string) *big.Int {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return new(big.Int).SetBytes(raw)
}

// RFC 7515, A.2: the signature is the published one.
func TestPublishedVectorOfRS256(t *testing.T) {
	t.Parallel()
	p := number(t, "4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc")
	q := number(t, "uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc")
	d := number(t, "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ")
	key := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: 65537}, D: d, Primes: []*big.Int{p, q}}
	key.Precompute()
	got, err := token(key, []byte(`{"alg":"RS256"}`), []byte(payload))
	const want = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ." +
		"cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// verified reports whether a token is signed by the key, as its reader computes it.
func verified(t *testing.T, key *ecdsa.PublicKey, token string) bool {
	t.Helper()
	at := strings.LastIndexByte(token, '.')
	signature, err := base64.RawURLEncoding.DecodeString(token[at+1:])
	if err != nil || len(signature) != 64 {
		t.Fatal(len(signature), err)
	}
	sum := sha256.Sum256([]byte(token[:at]))
	return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
}

// RFC 7515, A.3: whoever accepts the published signature accepts ours by the same key.
func TestPublishedVectorOfES256(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), number(t, "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI").FillBytes(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	const published = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ." +
		"DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
	ours, err := token(key, []byte(`{"alg":"ES256"}`), []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	cut := strings.LastIndexByte(published, '.')
	if !strings.HasPrefix(ours, published[:cut+1]) || !verified(t, &key.PublicKey, published) || !verified(t, &key.PublicKey, ours) {
		t.Error(ours)
	}
}

func inPEM(der []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func TestKeysAreReadInEveryForm(t *testing.T) {
	t.Parallel()
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text []byte
		alg  string
	}{
		"RSA":        {inPEM(x509.MarshalPKCS8PrivateKey(long)), "RS256"},
		"RSA, old":   {inPEM(x509.MarshalPKCS1PrivateKey(long), nil), "RS256"},
		"P-256":      {inPEM(x509.MarshalPKCS8PrivateKey(curve)), "ES256"},
		"P-256, old": {inPEM(x509.MarshalECPrivateKey(curve)), "ES256"},
	} {
		sign, err := Parse(c.text, "k1")
		if err != nil {
			t.Error(name, err)
			continue
		}
		token, err := sign(map[string]int{"iat": 7})
		head, _ := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
		if want := `{"alg":"` + c.alg + `","typ":"JWT","kid":"k1"}`; err != nil || string(head) != want {
			t.Errorf("%s: %s, %v", name, head, err)
		}
	}
}

func TestKeysThatAreTooWeakOrNoneAreRefused(t *testing.T) {
	t.Parallel()
	other, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	weak := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 1023), E: 65537}}
	for name, key := range map[string]crypto.Signer{"P-384": other, "RSA of 1024 bits": weak, "none": nil} {
		if _, err := New(key, ""); err == nil {
			t.Error(name)
		}
	}
	for _, text := range [][]byte{nil, []byte("canary"), inPEM([]byte("canary"), nil)} {
		if _, err := Parse(text, ""); err == nil || strings.Contains(err.Error(), "canary") {
			t.Error(err)
		}
	}
}
