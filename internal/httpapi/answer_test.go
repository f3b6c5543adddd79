package httpapi

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
)

// In an outage every request fails; the log has a line a second.
func TestRequestsThatFailDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, nil))
	for range 50 {
		LogFailure(httptest.NewRequest("GET", "/", nil), log, "it failed", errors.New("no database"))
	}
	if n := strings.Count(text.String(), "\n"); n == 0 || n > 5 {
		t.Errorf("%d lines of 50 requests", n)
	}
}
