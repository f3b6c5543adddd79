package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"regexp"

	gomail "github.com/wneessen/go-mail"

	"github.com/belfry-go/belfry/notify"
)

// write gives the bytes of msg, which was made of m. The library knows random
// boundaries, which differ each time, or one for all multiparts of a mail, which
// breaks those that are nested. So the random ones are replaced by what depends
// on the parts, so that no part can hold it.
func write(msg *gomail.Msg, m notify.Message) ([]byte, error) {
	var b bytes.Buffer
	if _, err := msg.WriteTo(&b); err != nil {
		return nil, err
	}
	all, sum := b.Bytes(), seed(m)
	for n, at := range announced.FindAllSubmatchIndex(all, multiparts(m)) {
		random := bytes.Clone(all[at[2]:at[3]])
		replace(all, random, boundary(sum, n))
	}
	return all, nil
}

// announced is where a multipart says what its boundary is. A text may look like
// that too, but all multiparts come before the first text, and no header can.
var announced = regexp.MustCompile(`\r\nContent-Type: multipart/[a-z]+;\r\n boundary=([0-9a-f]{60})\r\n`)

// multiparts counts them: alternative, related and mixed.
func multiparts(m notify.Message) (n int) {
	inline, beside := 0, 0
	for _, a := range m.Attachments {
		if inlined(a, m) {
			inline = 1
		} else {
			beside = 1
		}
	}
	if m.Text != "" && m.HTML != "" {
		n = 1
	}
	return n + inline + beside
}

// replace puts one text of equal length in the place of another, everywhere.
func replace(in, old, with []byte) {
	for at := bytes.Index(in, old); at >= 0; at = bytes.Index(in, old) {
		in = in[at+copy(in[at:], with):]
	}
}

// boundary is the one of the n-th multipart, from 0, as long as a random one.
func boundary(seed [sha256.Size]byte, n int) []byte {
	sum := sha256.Sum256(append(seed[:], byte(n)))
	return hex.AppendEncode(nil, sum[:30])
}

// seed depends on all that a mail consists of.
func seed(m notify.Message) (sum [sha256.Size]byte) {
	h := sha256.New()
	add := func(part []byte) { // a hash takes everything
		_ = binary.Write(h, binary.BigEndian, uint64(len(part)))
		_, _ = h.Write(part)
	}
	for _, text := range []string{m.ID, m.Text, m.HTML} {
		add([]byte(text))
	}
	for _, a := range m.Attachments {
		for _, text := range []string{a.Name, a.MediaType, a.ContentID} {
			add([]byte(text))
		}
		add(a.Data)
	}
	h.Sum(sum[:0])
	return sum
}
