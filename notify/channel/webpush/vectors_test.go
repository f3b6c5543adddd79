package webpush

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// RFC 8291, section 5 and appendix A: the body is the published one, to the byte.
func TestPublishedVectorOfRFC8291(t *testing.T) {
	t.Parallel()
	to, ok := parse(`{"endpoint":"https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV","keys":{
		"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`)
	once, err := ecdh.P256().NewPrivateKey(decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if !ok || err != nil {
		t.Fatal(err)
	}
	body, err := to.seal([]byte("When I grow up, I want to be a watermelon"), once, decode("DGv6ra1nlYgDCS1FRnbzlw"))
	const want = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_y" +
		"l95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if got := base64.RawURLEncoding.EncodeToString(body); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// verified reports whether a token is signed by the key, as a push service computes it.
func verified(t *testing.T, token, public string) bool {
	t.Helper()
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), decode(public))
	at := strings.LastIndexByte(token, '.')
	signature := decode(token[at+1:])
	if err != nil || len(signature) != 64 {
		t.Fatal(len(signature), err)
	}
	sum := sha256.Sum256([]byte(token[:at]))
	return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
}

// RFC 8292, section 2.4: our claims are the published ones, and whoever accepts the
// published token by its key accepts ours by our key.
func TestPublishedVectorOfRFC8292(t *testing.T) {
	t.Parallel()
	const published = "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9." +
		"eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0." +
		"i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
	const by = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
	var f rest.Faults
	s := newSender(private, "mailto:push@example.com", &f)
	proof, err := s.proof("https://push.example.net/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", time.Unix(1453523768, 0).Add(-life))
	token, public, _ := strings.Cut(strings.TrimPrefix(proof, "vapid t="), ", k=")
	if err != nil || f.Err("webpush") != nil || strings.Split(token, ".")[1] != strings.Split(published, ".")[1] {
		t.Fatalf("%v, %v: %s", err, f, token)
	}
	if !verified(t, published, by) || !verified(t, token, public) || public != s.public || verified(t, token, by) {
		t.Error("signatures are not what push services verify")
	}
}
