package standardwebhooks

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// counted are keys that count how often each reads a body.
func counted(t *testing.T, n int) (Keys, *int) {
	t.Helper()
	read := new(int)
	keys := make(Keys, n)
	for i := range keys {
		k, err := ParseKeys("whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune('a'+i)), 32))))
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = func(content []byte) []byte {
			*read++
			return k[0](content)
		}
	}
	return keys, read
}

func TestAStrangerMakesNobodyWork(t *testing.T) {
	t.Parallel()
	now := time.Unix(1614265330, 0)
	body := []byte(strings.Repeat("x", 1<<10))
	empty, wrong := "v1, ", "v1,"+base64.StdEncoding.EncodeToString(make([]byte, 32))+" "
	for name, c := range map[string]struct {
		at         time.Time
		signatures string
		reads      int
		want       error
	}{
		"80 KB of nothing":       {now, strings.Repeat(empty, 20_000), 0, ErrSignature},
		"80 KB of wrong ones":    {now, strings.Repeat(wrong, 1700), 2, ErrSignature},
		"one wrong":              {now, wrong, 2, ErrSignature},
		"none":                   {now, "", 0, ErrSignature},
		"an old one":             {now.Add(-time.Hour), wrong, 0, ErrTimestamp},
		"an old one, unsigned":   {now.Add(-time.Hour), "", 0, ErrTimestamp},
		"one from the year 9999": {time.Unix(253402300799, 0), wrong, 0, ErrTimestamp},
	} {
		keys, read := counted(t, 2)
		h := http.Header{}
		h.Set(HeaderID, "msg_1")
		h.Set(HeaderTimestamp, strconv.FormatInt(c.at.Unix(), 10))
		h.Set(HeaderSignature, c.signatures)
		if err := keys.Verify(h, body, now); !errors.Is(err, c.want) || *read != c.reads {
			t.Errorf("%s: %v after reading the body %d times, want %d", name, err, *read, c.reads)
		}
	}
}

func TestSixteenSignaturesAreLookedAt(t *testing.T) {
	t.Parallel()
	now := time.Unix(1614265330, 0)
	keys, _ := counted(t, 1)
	right, wrong := keys.Sign("msg_1", now, nil), "v1,"+base64.StdEncoding.EncodeToString(make([]byte, 32))+" "
	for before, want := range map[int]error{0: nil, 15: nil, 16: ErrSignature} {
		h := keys.Header("msg_1", now, nil)
		h.Set(HeaderSignature, strings.Repeat(wrong, before)+right)
		if err := keys.Verify(h, nil, now); !errors.Is(err, want) {
			t.Errorf("behind %d others: %v, want %v", before, err, want)
		}
	}
}
