package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The console says of each person whether the last reminder came, and of nobody else.
func TestTheConsoleTellsWhatBecameOfEachReminder(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	screen, program := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(ctx, "127.0.0.1:0", t.TempDir(), false, program) }()
	line, err := bufio.NewReader(screen).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	site, _, _ := strings.Cut(strings.TrimPrefix(line, "Open "), " ")
	for who, says := range map[string]string{
		"ada": "ada got", "ben": "NoRecipients", "cem": "550", "dia": "OutcomeUnknown", "eve": "it came back", "fay": "fay was sent", "kim": "404",
	} {
		status, text := get(t, site+"api/v1/verdict?"+url.Values{"person": {who}, "type": {"certificate"}}.Encode())
		if !strings.Contains(who+" "+strings.TrimPrefix(text, `{"text":"`)+" "+status, says) {
			t.Errorf("%s: %s %s", who, status, text)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, address string) (status, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status, string(all)
}
