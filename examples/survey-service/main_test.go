package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

var openLine = regexp.MustCompile(`^  cust-\d+ \((?:ar|en)\): (http://127\.0\.0\.1:\d+/s/[a-z0-9]+)$`)

// terminal is where the program prints.
type terminal struct {
	*testing.T
	lines *bufio.Scanner
	links []string
}

// until reads up to a line with that text, and notes the links on the way.
func (tt *terminal) until(text string) {
	tt.Helper()
	for tt.lines.Scan() {
		if found := openLine.FindStringSubmatch(tt.lines.Text()); found != nil {
			tt.links = append(tt.links, found[1])
		}
		if strings.Contains(tt.lines.Text(), text) {
			return
		}
	}
	tt.Fatalf("the program ended before %q: %v", text, tt.lines.Err())
}

// start runs the program as a person would, until stop.
func start(t *testing.T, dir string) (tt *terminal, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := serve(ctx, "127.0.0.1:0", dir, in)
		_ = in.CloseWithError(err)
		done <- err
	}()
	return &terminal{T: t, lines: bufio.NewScanner(out)}, func() {
		cancel()
		_ = out.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A person starts the program, complains in a browser, and starts it again.
func TestTheServiceServesAndGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tt, stop := start(t, dir)
	tt.until("3 created, 1 known already, 1 failed, 1 that no trigger wants")
	tt.until("/admin/responses.csv")
	if len(tt.links) != 3 {
		t.Fatal(tt.links)
	}
	for range tt.links {
		tt.until("mail to customer-")
	}
	browser := caller{}
	status, page, err := browser.do(t.Context(), http.MethodGet, tt.links[1], "", "")
	if err != nil || status != http.StatusOK || !strings.Contains(page, "Your visit to the workshop") {
		t.Fatal(status, page, err)
	}
	answers := strings.Replace(tt.links[1], "/s/", "/SurveyInstances/", 1) + "/responses"
	_, thanks, err := browser.do(t.Context(), http.MethodPost, answers, "application/x-www-form-urlencoded", "q.rate=2&q.has-a-complaint=yes&shown=complaint&q.complaint=It+was+late.")
	if err != nil || !strings.Contains(thanks, "We are glad to know.") {
		t.Fatal(thanks, err)
	}
	tt.until("cust-124")
	site, _, _ := strings.Cut(tt.links[1], "/s/")
	for _, path := range []string{"/admin/responses.csv", "/admin/links/1"} {
		if status, got, err := browser.do(t.Context(), http.MethodGet, site+path, "", ""); err != nil || status != http.StatusUnauthorized {
			t.Error(path, status, got, err)
		}
	}
	stop()

	tt, stop = start(t, dir)
	tt.until("0 created, 4 known already")
	tt.until("/admin/responses.csv")
	if len(tt.links) != 2 {
		t.Error(tt.links)
	}
	stop()
}
