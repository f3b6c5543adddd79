package main

import (
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// entry is a report of one day, as its reader knows it.
type entry struct {
	stage string   // of its branch at its moment; empty: nobody expects it
	by    []string // who sent it: "old" and "new"
}

// ledger counts mails, by their subjects.
type ledger struct {
	entries            map[string]*entry
	read               map[string]bool // names of files
	refused, conflicts map[string]int  // by stage
	contested          map[string]bool // keys
}

func newLedger() *ledger {
	return &ledger{map[string]*entry{}, map[string]bool{}, map[string]int{}, map[string]int{}, map[string]bool{}}
}

func (l *ledger) entry(subject string) *entry {
	if l.entries[subject] == nil {
		l.entries[subject] = &entry{}
	}
	return l.entries[subject]
}

// expect says which reports belong to this hour. It asks neither scheduler.
func (l *ledger) expect(now time.Time, stages map[string]string) error {
	all, err := wanted(now)
	for _, r := range all {
		l.entry(subject(r.guid, r.localDate)).stage = stages[r.unit]
	}
	return err
}

// open reads the mails that are new, and returns a line about each.
func (l *ledger) open(dir string) (lines []string, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.eml"))
	for _, name := range names {
		if err == nil && !l.read[name] {
			l.read[name] = true
			var line string
			line, err = l.mail(name)
			lines = append(lines, line)
		}
	}
	return lines, err
}

func (l *ledger) mail(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	read, err := mail.ReadMessage(f)
	if err != nil {
		return "", err
	}
	from, err := read.Header.AddressList("From")
	if err != nil {
		return "", err
	}
	side, _, _ := strings.Cut(from[0].Address, "@")
	e := l.entry(read.Header.Get("Subject"))
	e.by = append(e.by, side)
	return fmt.Sprintf("%s: %s", side, read.Header.Get("Subject")), nil
}
