package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/belfry-go/belfry/notify"
)

// journal is the provider: a file with a line for each mail that was accepted. A
// worker that comes after a dead one reads there what that one has sent.
type journal struct {
	mu   sync.Mutex
	file *os.File
	sent map[string]string // recipient by message id
	call func(to string)   // after each mail, before Belfry hears of it
}

func openJournal(name string) (*journal, error) {
	sent, err := readJournal(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return &journal{file: f, sent: sent, call: func(string) {}}, err
}

// readJournal gives the recipients by message id.
func readJournal(name string) (map[string]string, error) {
	out := map[string]string{}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		id, to, ok := strings.Cut(lines.Text(), " ")
		if !ok || out[id] != "" {
			return nil, fmt.Errorf("the journal has a line that it should not have: %q", lines.Text())
		}
		out[id] = to
	}
	return out, lines.Err()
}

// Key names the channel.
func (j *journal) Key() string { return "email:journal" }

// Send writes one line at once, so that a kill leaves all of it or nothing.
func (j *journal) Send(_ context.Context, m notify.Message) (notify.Receipt, error) {
	j.mu.Lock()
	_, err := fmt.Fprintf(j.file, "%s %s\n", m.ID, m.To)
	j.mu.Unlock()
	if err != nil {
		return notify.Receipt{}, notify.Unknown("disk", err)
	}
	j.call(m.To)
	return notify.Receipt{ID: m.ID}, nil
}

// Lookup tells what a dead worker has sent: nobody else writes the journal.
func (j *journal) Lookup(_ context.Context, m notify.Message) (notify.LookupResult, error) {
	if j.sent[m.ID] != "" {
		return notify.LookupResult{Status: notify.LookupAccepted, Receipt: notify.Receipt{ID: m.ID}}, nil
	}
	return notify.LookupResult{Status: notify.LookupAbsent}, nil
}
