package main

import (
	"context"
	"io"
	"net/http"
	"strings"
)

const (
	jsonMedia = "application/json"
	formMedia = "application/x-www-form-urlencoded"
)

// client calls the service over HTTP; without a token it is a customer's browser.
type client struct{ site, token string }

// reply is what a caller sees.
type reply struct {
	status int
	body   string
}

// do makes one call; path may be a whole address.
func (c client) do(ctx context.Context, method, path, media, body string) (reply, error) {
	if !strings.HasPrefix(path, "http") {
		path = c.site + path
	}
	req, err := http.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return reply{resp.StatusCode, string(text)}, err
}
