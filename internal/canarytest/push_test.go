package canarytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/apns"
	"github.com/belfry-go/belfry/notify/channel/fcm"
	"github.com/belfry-go/belfry/notify/channel/webpush"
)

// pushes are the channels to devices.
func (s *story) pushes(add func(channel.Channel, error)) {
	add(fcm.New(serviceAccount(s.t, s.unkind.URL), &fcm.Options{BaseURL: s.unkind.URL}))
	trust := &tls.Config{RootCAs: s.unkind.apple.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12}
	add(apns.New("example.school", apns.Credentials{Key: privateKey(s.t), KeyID: "ZINNOBER12", TeamID: "ZINNOBER34"},
		&apns.Options{BaseURL: s.unkind.apple.URL, TLSConfig: trust}))
	add(webpush.New(vapidKey, "mailto:office@school.example", &webpush.Options{Trusted: []string{"127.0.0.1"}}))
}

// serviceAccount is that of a Google project whose tokens are at that address.
func serviceAccount(t *testing.T, at string) []byte {
	file, err := json.Marshal(map[string]string{"project_id": "zinnober-project", "client_email": address, "token_uri": at + "/token",
		"private_key": string(privateKey(t))})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func privateKey(t *testing.T) []byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// vapidKey is a key, and browserAuth a secret, that begin with the canary in base64url.
var vapidKey, browserAuth = canary + strings.Repeat("A", 35), canary + strings.Repeat("A", 14)
