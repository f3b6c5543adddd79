package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// mailer stands for the mail provider: it takes mails as JSON and counts them.
type mailer struct {
	url  string
	came chan struct{} // has something after a mail
	mu   sync.Mutex
	got  map[string]int // by address
}

func newMailer() (*mailer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &mailer{url: "http://" + listener.Addr().String(), came: make(chan struct{}, 1), got: map[string]int{}}
	go http.Serve(listener, m) //nolint:errcheck,gosec // it ends with the program
	return m, nil
}

func (m *mailer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var mail struct{ To string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&mail); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.got[mail.To]++
	id := fmt.Sprintf("%s-%d", mail.To, m.got[mail.To])
	m.mu.Unlock()
	w.Header().Set("Message-Id", id)
	w.WriteHeader(http.StatusAccepted)
	select {
	case m.came <- struct{}{}:
	default:
	}
}

// mails gives the number of mails by address.
func (m *mailer) mails() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string]int, len(m.got))
	for to, n := range m.got {
		out[to] = n
	}
	return out
}
