package main

import (
	"net/mail"
	"os"
	"path/filepath"
)

// countMails reads the folder as its recipients would: how many mails there are,
// and how many of them say to the same person what another one says.
func countMails(dir string) (all, doubled int, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.eml"))
	if err != nil {
		return 0, 0, err
	}
	seen := map[string]bool{}
	for _, name := range names {
		said, err := readMail(name)
		if err != nil {
			return 0, 0, err
		}
		if seen[said] {
			doubled++
		}
		seen[said] = true
	}
	return len(names), doubled, nil
}

func readMail(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	m, err := mail.ReadMessage(f)
	if err != nil {
		return "", err
	}
	text := make([]byte, 1<<10)
	n, err := m.Body.Read(text)
	if err != nil {
		return "", err
	}
	return m.Header.Get("To") + m.Header.Get("Subject") + string(text[:n]), nil
}
