package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// loft stands for the provider: it takes messages, and tells later what became of
// them.
type loft struct {
	url     string
	secret  []byte
	mu      sync.Mutex
	flights []flight
}

type flight struct {
	Flight string    `json:"flight"`
	ID     string    `json:"id"`
	Landed bool      `json:"landed"`
	On     time.Time `json:"on"`
	to     string
}

func (l *loft) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct{ ID, To string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&m); err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	if m.To == "nowhere" {
		http.NotFound(w, r)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f := flight{Flight: fmt.Sprint("flight-", len(l.flights)+1), ID: m.ID, Landed: m.To != "the storm", to: m.To}
	l.flights = append(l.flights, f)
	w.Header().Set("Flight", f.Flight)
	w.WriteHeader(http.StatusAccepted)
}

// report calls the host back about every flight, twice as providers do, and once
// with a forged signature. It returns the answers.
func (l *loft) report(ctx context.Context, callback string, on time.Time) (answers []int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.flights {
		f.On = on
		body, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		for _, signature := range []string{sign(l.secret, body), sign(l.secret, body), "forged"} {
			status, err := post(ctx, callback, body, signature)
			if err != nil {
				return nil, err
			}
			answers = append(answers, status)
		}
	}
	return answers, nil
}

func post(ctx context.Context, url string, body []byte, signature string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Signature", signature)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// serve runs a handler until the program ends, and gives its address.
func serve(h http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}
