package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
)

// In a thousand members one is in the file twice, and one has an address that
// cannot be one.
const (
	twiceIn = 1000
	badIn   = 1000
)

// writeMembers makes the file: the same one each time.
func writeMembers(s settings) (err error) {
	f, err := os.Create(filepath.Join(s.dir, "members.csv"))
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "id,email,name,code")
	for i := range s.n {
		id, mail := i, fmt.Sprintf("member-%06d@club.example", i)
		switch {
		case i%twiceIn == twiceIn-1: // the same person again
			id, mail = i-1, fmt.Sprintf("member-%06d@CLUB.example", i-1)
		case i%badIn == badIn/2:
			mail = "unknown"
		}
		fmt.Fprintf(w, "%d,%s,Member %d,SPRING-%06d\n", id, mail, id, id)
	}
	return w.Flush()
}

// expected is what has to come of the file.
func (s settings) expected() (mails, twice, bad int) {
	twice, bad = s.n/twiceIn, (s.n+badIn-1-badIn/2)/badIn
	return s.n - twice - bad, twice, bad
}
