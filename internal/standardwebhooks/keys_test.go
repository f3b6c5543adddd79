package standardwebhooks_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/standardwebhooks"
)

// The test vectors of the reference libraries.
const (
	id        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	secret    = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	payload   = `{"test": 2432232314}`
	signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	wrong     = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	other     = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

var at = time.Unix(1614265330, 0)

func parse(t *testing.T, secrets ...string) standardwebhooks.Keys {
	t.Helper()
	k, err := standardwebhooks.ParseKeys(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func header(signatures string) http.Header {
	h := http.Header{}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", "1614265330")
	h.Set("webhook-signature", signatures)
	return h
}

func TestPublishedSignature(t *testing.T) {
	t.Parallel()
	for _, s := range []string{secret, "whsec_" + secret} {
		if got := parse(t, s).Sign(id, at, []byte(payload)); got != signature {
			t.Error(got)
		}
		if err := parse(t, s).Verify(header(signature), []byte(payload), at); err != nil {
			t.Error(err)
		}
	}
}

func TestPublishedVerification(t *testing.T) {
	t.Parallel()
	const tolerance = standardwebhooks.Tolerance
	for name, c := range map[string]struct {
		change func(h http.Header)
		now    time.Time
		want   error
	}{
		"valid":             {func(http.Header) {}, at, nil},
		"missing id":        {func(h http.Header) { h.Del("webhook-id") }, at, standardwebhooks.ErrSignature},
		"missing timestamp": {func(h http.Header) { h.Del("webhook-timestamp") }, at, standardwebhooks.ErrTimestamp},
		"missing signature": {func(h http.Header) { h.Del("webhook-signature") }, at, standardwebhooks.ErrSignature},
		"invalid signature": {func(h http.Header) { h.Set("webhook-signature", wrong) }, at, standardwebhooks.ErrSignature},
		"other version":     {func(h http.Header) { h.Set("webhook-signature", "v2"+signature[2:]) }, at, standardwebhooks.ErrSignature},
		"no version":        {func(h http.Header) { h.Set("webhook-signature", signature[3:]) }, at, standardwebhooks.ErrSignature},
		"empty signature":   {func(h http.Header) { h.Set("webhook-signature", "v1,") }, at, standardwebhooks.ErrSignature},
		"other timestamp":   {func(h http.Header) { h.Set("webhook-timestamp", "946684800") }, at, standardwebhooks.ErrTimestamp},
		"fresh, not signed": {func(h http.Header) { h.Set("webhook-timestamp", "1614265331") }, at, standardwebhooks.ErrSignature},
		"other id":          {func(h http.Header) { h.Set("webhook-id", "msg_other") }, at, standardwebhooks.ErrSignature},
		"no headers":        {func(h http.Header) { clear(h) }, at, standardwebhooks.ErrSignature},
		"several signatures": {func(h http.Header) {
			h.Set("webhook-signature", strings.Join([]string{wrong, "v2" + wrong[2:], signature, wrong}, " "))
		}, at, nil},
		"just fresh":      {func(http.Header) {}, at.Add(tolerance), nil},
		"too old":         {func(http.Header) {}, at.Add(tolerance + time.Second), standardwebhooks.ErrTimestamp},
		"from the future": {func(http.Header) {}, at.Add(-tolerance - time.Second), standardwebhooks.ErrTimestamp},
	} {
		h := header(signature)
		c.change(h)
		if err := parse(t, secret).Verify(h, []byte(payload), c.now); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := parse(t, secret).Verify(header(signature), []byte(payload+"\n"), at); !errors.Is(err, standardwebhooks.ErrSignature) {
		t.Error("another body:", err)
	}
	if err := standardwebhooks.Keys(nil).Verify(header(signature), []byte(payload), at); !errors.Is(err, standardwebhooks.ErrSignature) {
		t.Error("no key:", err)
	}
}

func TestEachKeySignsWhileOneIsReplaced(t *testing.T) {
	t.Parallel()
	got := parse(t, other, secret).Sign(id, at, []byte(payload))
	if len(strings.Split(got, " ")) != 2 || !strings.HasSuffix(got, " "+signature) {
		t.Error(got)
	}
	for _, s := range []string{secret, other} {
		if err := parse(t, s).Verify(header(got), []byte(payload), at); err != nil {
			t.Error(err)
		}
	}
	if err := parse(t, other, secret).Verify(header(signature), []byte(payload), at); err != nil {
		t.Error("the second key:", err)
	}
}

func TestTimeThatIsNoneIsNotFresh(t *testing.T) {
	t.Parallel()
	keys := standardwebhooks.Keys{func([]byte) []byte { return []byte("any") }}
	for _, text := range []string{"soon", "", "1e9", "99999999999999999999", "-9223372036854775808"} {
		h := header("v1,YW55")
		h.Set("webhook-timestamp", text)
		if err := keys.Verify(h, []byte(payload), at); !errors.Is(err, standardwebhooks.ErrTimestamp) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSecretThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]string{nil, {""}, {"whsec_"}, {"whsec_canary!"}, {"Y2FuYXJ5"}, {secret, "canary"}, {"whsec_" + strings.Repeat("YWFh", 22)}, {"whsk_" + secret}} {
		if k, err := standardwebhooks.ParseKeys(secrets...); err == nil || strings.Contains(err.Error(), "canary") {
			t.Error(secrets, k, err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", parse(t, secret), parse(t, secret), parse(t, secret)); strings.Contains(text, "MfKQ") || strings.Contains(text, "49, 242") {
		t.Error("printed keys show a secret")
	}
}
