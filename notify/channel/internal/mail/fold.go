package mail

import (
	"bytes"
	"regexp"
)

// lineLength is how long a header line with an encoded word may be (RFC 2047, section
// 2).
const lineLength = 76

// folded is where the library breaks a header right behind its colon. Parsers that do
// not drop the blank behind the break show it.
var folded = regexp.MustCompile(`(?m)^([A-Za-z-]+):\r\n (\S+)`)

// encoded is an encoded word: its beginning and its text.
var encoded = regexp.MustCompile(`^(=\?[^?]+\?[qQ]\?)([^?]+)\?=$`)

// unfold begins the value of each header on the line of its name. What is one word
// makes a long line then, of which 998 bytes are allowed (RFC 5322, section 2.1.1); an
// encoded one is made two.
func unfold(mail []byte) []byte {
	end := bytes.Index(mail, []byte("\r\n\r\n"))
	head := folded.ReplaceAllFunc(mail[:end], func(line []byte) []byte {
		parts := folded.FindSubmatch(line)
		name, word := parts[1], parts[2]
		if e := encoded.FindSubmatch(word); e != nil {
			word = split(e[1], e[2], lineLength-len(name)-len(": "))
		}
		return append(append(bytes.Clone(name), ": "...), word...)
	})
	return append(head, mail[end:]...)
}

// split makes two encoded words of one that has no room, between two letters.
func split(begin, text []byte, room int) []byte {
	room -= len(begin) + len("?=")
	if len(text) <= room {
		room = len(text)
	}
	at := 0
	for i := 0; i <= room && i < len(text); {
		if letter(text[i:]) {
			at = i
		}
		if text[i] == '=' {
			i += 2
		}
		i++
	}
	if at == 0 || room == len(text) {
		return bytes.Join([][]byte{begin, text, []byte("?=")}, nil)
	}
	return bytes.Join([][]byte{begin, text[:at], []byte("?=\r\n "), begin, text[at:], []byte("?=")}, nil)
}

// letter reports whether one begins there: "=80" to "=BF" go on with one in UTF-8.
func letter(text []byte) bool {
	return text[0] != '=' || len(text) < 2 || !bytes.ContainsRune([]byte("89AB"), rune(text[1]))
}

// ended closes a single part with a soft line break where its text has no line break
// at the end: a mail server would add one, and the reader see it.
func ended(mail []byte) []byte {
	if bytes.HasSuffix(mail, []byte("\r\n")) {
		return mail
	}
	return append(mail, "=\r\n"...)
}
