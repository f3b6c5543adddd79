package main

import (
	"cmp"
	"context"
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mailbox is the folder of mails, read as their recipients would.
type mailbox struct {
	dir   string
	known map[string]bool // names of files
	lines []string        // of all mails so far
}

// zones says where a customer is.
type zones func(ctx context.Context, customer string) (*time.Location, error)

// letter is a mail in one line, with the local time of its customer.
type letter struct {
	on   time.Time
	line string
}

// news gives the mails that are new since the last call, the oldest first.
func (m *mailbox) news(ctx context.Context, zone zones) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(m.dir, "*.eml"))
	if err != nil {
		return nil, err
	}
	var letters []letter
	for _, name := range names {
		if m.known[name] {
			continue
		}
		m.known[name] = true
		l, err := readLetter(ctx, name, zone)
		if err != nil {
			return nil, err
		}
		letters = append(letters, l)
	}
	slices.SortFunc(letters, func(a, b letter) int {
		return cmp.Or(a.on.Compare(b.on), strings.Compare(a.line, b.line))
	})
	var lines []string
	for _, l := range letters {
		lines = append(lines, l.line)
	}
	m.lines = append(m.lines, lines...)
	return lines, nil
}

func readLetter(ctx context.Context, name string, zone zones) (letter, error) {
	f, err := os.Open(name)
	if err != nil {
		return letter{}, err
	}
	defer f.Close()
	read, err := mail.ReadMessage(f)
	if err != nil {
		return letter{}, err
	}
	on, err := read.Header.Date()
	if err != nil {
		return letter{}, err
	}
	to, err := read.Header.AddressList("To")
	if err != nil {
		return letter{}, err
	}
	where, err := zone(ctx, to[0].Name)
	if err != nil {
		return letter{}, err
	}
	line := fmt.Sprintf("%s  %-5s  %s", on.In(where).Format("Mon _2 Jan 15:04 MST"), to[0].Name, read.Header.Get("Subject"))
	return letter{on, line}, nil
}
