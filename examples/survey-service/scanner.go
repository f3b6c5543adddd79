package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/belfry-go/belfry/survey"
)

// caller calls the service over HTTP: with its token it is a program, without one a
// customer's browser.
type caller struct{ site, token string }

// do makes one call. Where path is a whole address, the site is in it.
func (c caller) do(ctx context.Context, method, path, media, body string) (status int, answer string, err error) {
	if !strings.HasPrefix(path, "http") {
		path = c.site + path
	}
	req, err := http.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", media)
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(text), err
}

// post is the scanner: it posts the rows of a CSV file, and says what became of
// them. It keeps no note of what it has posted: telling an event twice makes nothing
// new.
func (c caller) post(ctx context.Context, file string) (report survey.IngestReport, err error) {
	f, err := os.Open(file)
	if err != nil {
		return report, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return report, fmt.Errorf("%s: %w", file, err)
	}
	type event struct {
		Payload   map[string]string `json:"payload"`
		Recipient survey.Recipient  `json:"recipient"`
	}
	items := []event{}
	for _, r := range rows[min(1, len(rows)):] {
		items = append(items, event{
			Payload:   map[string]string{"wip": r[0], "dealerId": r[1], "jobType": r[2]},
			Recipient: survey.Recipient{Address: r[3], Locale: r[4], CustomerRef: r[5]},
		})
	}
	body, err := json.Marshal(map[string]any{"eventKind": "service-visit-closed", "items": items})
	if err != nil {
		return report, err
	}
	status, answer, err := c.do(ctx, http.MethodPost, "/api/Surveys/Triggers/ingest", "application/json", string(body))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("ingest: %d %s", status, answer)
	}
	if err != nil {
		return report, err
	}
	return report, json.Unmarshal([]byte(answer), &report)
}
