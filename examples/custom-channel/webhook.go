package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/notify"
)

// landings understands the loft's callbacks: {"flight","id","landed"}, signed.
type landings struct{ secret []byte }

func (landings) Provider() string { return "pigeon" }

// Events proves first, on the raw bytes, and reads then.
func (l landings) Events(r notify.WebhookRequest) ([]notify.StatusEvent, error) {
	if len(l.secret) == 0 || !hmac.Equal([]byte(r.Header.Get("Signature")), []byte(sign(l.secret, r.Body))) {
		return nil, notify.ErrWebhookRefused
	}
	var said struct {
		Flight, ID string
		Landed     bool
		On         time.Time
	}
	if err := json.Unmarshal(r.Body, &said); err != nil {
		return nil, err
	}
	kind := notify.KindDelivered
	if !said.Landed {
		kind = notify.KindFailed
	}
	return []notify.StatusEvent{{
		Provider: "pigeon", EventID: said.Flight, Kind: kind, On: said.On, MessageID: said.ID, Code: "lost",
	}}, nil
}

func sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
