package rest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestTextTakesWhatProvidersWrite(t *testing.T) {
	t.Parallel()
	var got []Text
	if err := json.Unmarshal([]byte(`["a", 30005, true, null, {"b": 1}, ["c"], 1.50]`), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Text{"a", "30005", "true", "", "", "", "1.50"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyGeneratedIDsComeBack(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{"0123456789abcdef0123456789abcdef": true, "5f1d": true, "": false, "sam@school.example": false, "A": false, strings.Repeat("a", 65): false} {
		if got := MessageID(text); (got == text) != (ok || text == "") || !ok && got != "" {
			t.Errorf("%q: %q", text, got)
		}
	}
	for text, ok := range map[string]bool{"SM00/=+.": true, "a b": false, "ä": false, strings.Repeat("a", 201): false} {
		if got := ProviderID(text); (got == text) != ok {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestRefusalOfACallbackIsKnown(t *testing.T) {
	t.Parallel()
	if err := Refused("test", "too old"); !errors.Is(err, channel.ErrWebhookRefused) {
		t.Error(err)
	}
	if err := DecodeCallback("test", []byte("sam@school.example"), new(int)); err == nil || strings.Contains(err.Error(), "sam") {
		t.Error(err)
	}
}
