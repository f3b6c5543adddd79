package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"mime"
	"net/url"
	"regexp"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/belfry-go/belfry/notify/channel"
)

// setBody sets text, HTML or both as alternatives, the plain one first.
func setBody(msg *gomail.Msg, m channel.Message) {
	text, html := lineFeeds.Replace(m.Text), lineFeeds.Replace(m.HTML)
	switch {
	case html == "":
		msg.SetBodyString(gomail.TypeTextPlain, text)
	case text == "":
		msg.SetBodyString(gomail.TypeTextHTML, html)
	default:
		msg.SetBodyString(gomail.TypeTextPlain, text)
		msg.AddAlternativeString(gomail.TypeTextHTML, html)
	}
}

// lineFeeds makes all line breaks alike. Without it, mime/quotedprintable loses
// a line feed that comes somewhere after a lone carriage return.
var lineFeeds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// attach adds files beside the body (multipart/mixed), and pictures that the HTML
// shows under their content ids (multipart/related).
func attach(msg *gomail.Msg, m channel.Message) {
	for _, a := range m.Attachments {
		data := bytes.NewReader(a.Data)
		if inlined(a, m) {
			msg.EmbedReadSeeker(a.Name, data, described(a, "inline"))
			continue
		}
		msg.AttachReadSeeker(a.Name, data, described(a, "attachment"))
	}
}

// inlined tells where a part belongs: without HTML nothing can show a picture, so
// it is a file.
func inlined(a channel.Attachment, m channel.Message) bool { return a.ContentID != "" && m.HTML != "" }

// described sets the headers of a part. The library would put encoded words into
// the name, which no standard knows there; these are by RFC 2231.
func described(a channel.Attachment, disposition string) gomail.FileOption {
	return func(f *gomail.File) {
		f.Header.Set("Content-Type", a.MediaType)
		f.Header.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": a.Name}))
		if a.ContentID != "" {
			f.Header.Set("Content-Id", "<"+a.ContentID+">")
		}
	}
}

// checkAttachments refuses what would not be read as it is meant.
func checkAttachments(all []channel.Attachment) error {
	for _, a := range all {
		kind, params, err := mime.ParseMediaType(a.MediaType)
		switch {
		case a.Name == "" || len(a.Name) > 200 || badHeader(a.Name) != "":
			return badAttachment("name")
		case err != nil || kind != a.MediaType || len(params) > 0 || !strings.Contains(kind, "/") || composite(kind):
			return badAttachment("media type")
		case strings.Trim(a.ContentID, idCharacters) != "":
			return badAttachment("content id")
		}
	}
	return nil
}

const idCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// composite types must not be in base64 (RFC 2045, section 6.4).
func composite(kind string) bool {
	return strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/")
}

func badAttachment(what string) error {
	return channel.Permanent("attachment", errors.New("mail: attachment whose "+what+" no mail can have"))
}

// setUnsubscribe lets mail programs offer a button (RFC 2369, RFC 8058).
func setUnsubscribe(msg *gomail.Msg, address string) {
	if address == "" {
		return
	}
	msg.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+address+">")
	msg.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
}

// unsubscribable accepts nothing, and what may stand between angle brackets.
func unsubscribable(address string) bool {
	if address == "" {
		return true
	}
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != "" && len(address) <= maxHeader &&
		!strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("<>,", r) }) &&
		!encodedWord.MatchString(address)
}

// write gives the bytes of msg, which was made of m. The library knows random
// boundaries, which differ each time, or one for all multiparts of a mail, which
// breaks those that are nested. So the random ones are replaced by what depends
// on the parts, so that no part can hold it.
func write(msg *gomail.Msg, m channel.Message) ([]byte, error) {
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
func multiparts(m channel.Message) (n int) {
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
func seed(m channel.Message) (sum [sha256.Size]byte) {
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
