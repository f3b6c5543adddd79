package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The console says of each person what became of the last reminder; of Kim, whom the
// school does not know, it says nothing.
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
	for who, want := range map[string]string{
		"ada": "Reached", "ben": "Withheld", "cem": "Failed", "dia": "NeedsYou", "eve": "Failed", "fay": "Sent", "kim": "",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			site+"api/v1/verdict?"+url.Values{"person": {who}, "type": {"certificate"}}.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var verdict struct{ Outcome string }
		err = json.NewDecoder(answer.Body).Decode(&verdict)
		if err := errors.Join(err, answer.Body.Close()); err != nil || verdict.Outcome != want {
			t.Errorf("%s: %q, and not %q: %v", who, verdict.Outcome, want, err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
