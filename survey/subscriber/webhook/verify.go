package webhook

import (
	"net/http"
	"time"

	"github.com/belfry-go/belfry/internal/standardwebhooks"
)

// Verify is for receivers in Go: it proves that a request with these headers and
// this raw body was signed with the secret, at most five minutes from now. A
// receiver that replaces its secret verifies with either. It does not know which
// ids came before. The error says what is wrong, and holds no secret.
func Verify(secret string, h http.Header, body []byte, now time.Time) error {
	keys, err := standardwebhooks.ParseKeys(secret)
	if err != nil {
		return err
	}
	return keys.Verify(h, body, now)
}
