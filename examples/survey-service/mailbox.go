package main

import (
	"cmp"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// mailbox is the folder of mails, read as their recipients would.
type mailbox struct {
	dir   string
	known map[string]bool // names of files
}

// letter is what a recipient needs of a mail.
type letter struct{ to, subject, link string }

var linkInText = regexp.MustCompile(`http://\S+/s/[a-z0-9]+`)

// news gives the mails that are new since the last call, by recipient.
func (m *mailbox) news() (letters []letter, err error) {
	names, err := filepath.Glob(filepath.Join(m.dir, "*.eml"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if m.known[name] {
			continue
		}
		m.known[name] = true
		l, err := readLetter(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		letters = append(letters, l)
	}
	slices.SortFunc(letters, func(a, b letter) int { return cmp.Compare(a.to, b.to) })
	return letters, nil
}

func readLetter(name string) (l letter, err error) {
	f, err := os.Open(name)
	if err != nil {
		return l, err
	}
	defer f.Close()
	read, err := mail.ReadMessage(f)
	if err != nil {
		return l, err
	}
	to, err := read.Header.AddressList("To")
	if err != nil {
		return l, err
	}
	if l.subject, err = new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject")); err != nil {
		return l, err
	}
	body := io.Reader(read.Body)
	if read.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	l.to, l.link = to[0].Address, linkInText.FindString(string(text))
	return l, err
}
