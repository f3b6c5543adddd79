package mail_test

import (
	"mime"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// Python's parser, and others, take a header's value as it is behind the colon.
func TestNoHeaderIsFoldedBehindItsColon(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 12)
	for name, subject := range map[string]string{
		"short":               "Your certificate",
		"one long word":       long,
		"a long word first":   long + " and more",
		"umlauts":             strings.Repeat("ü", 80),
		"umlauts and ASCII":   strings.Repeat("aü", 60),
		"four bytes a letter": strings.Repeat("😀", 40),
		"Greek words":         strings.Repeat("καλημέρα ", 20),
		"just too long":       strings.Repeat("x", 68),
		"just short enough":   strings.Repeat("x", 67),
	} {
		m := message()
		m.Subject, m.Name, m.UnsubscribeURL = subject, strings.Repeat("ö", 60), "https://school.example/"+long
		raw := build(t, m).Bytes
		head, _, _ := strings.Cut(string(raw), "\r\n\r\n")
		for line := range strings.SplitSeq(head, "\r\n") {
			key, value, _ := strings.Cut(line, ":")
			if !strings.HasPrefix(line, " ") && (len(value) < 2 || value[0] != ' ' || value[1] == ' ') {
				t.Errorf("%s: %s begins with %q", name, key, value)
			}
			if len(line) > 78 && strings.Contains(line, "=?") {
				t.Errorf("%s: %d bytes in a line of encoded words", name, len(line))
			}
		}
		for _, word := range regexp.MustCompile(`=\?\S+\?=`).FindAllString(head, -1) {
			if text, err := new(mime.WordDecoder).Decode(word); err != nil || strings.ContainsRune(text, utf8.RuneError) {
				t.Errorf("%s: the word %s is %q, %v", name, word, text, err)
			}
		}
		l, msg, err := read(raw)
		if err != nil || sane(raw) != "" {
			t.Fatal(name, err, sane(raw))
		}
		if l.Subject != strings.TrimSpace(subject) || l.ToName != m.Name || msg.Header.Get("List-Unsubscribe") != "<"+m.UnsubscribeURL+">" {
			t.Errorf("%s: read as %q, %q", name, l.Subject, l.ToName)
		}
	}
}

// A transport ends a mail with a line break, which is none of the text.
func TestATextKeepsItsEnd(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"It expires soon.", "It expires soon.\n", "It expires soon.\n\n", "ends in blank ", strings.Repeat("x", 75), strings.Repeat("x", 76), "ü", "="} {
		for kind, both := range map[string][2]string{"text": {text, ""}, "HTML": {"", text}, "both": {text, "<p>" + text}} {
			m := message()
			m.Text, m.HTML = both[0], both[1]
			raw := build(t, m).Bytes
			if !strings.HasSuffix(string(raw), "\r\n") {
				t.Errorf("%s %q: a mail that ends in %q", kind, text, raw[len(raw)-5:])
			}
			l, _, err := read(raw)
			if err != nil {
				t.Fatal(err)
			}
			for which, got := range map[string]string{both[0]: l.Text, both[1]: l.HTML} {
				if got = strings.ReplaceAll(got, "\r\n", "\n"); got != which {
					t.Errorf("%s: %q is read as %q", kind, which, got)
				}
			}
			for line := range strings.SplitSeq(string(raw), "\r\n") {
				if _, _, header := strings.Cut(line, ": "); !header && len(line) > 76 {
					t.Errorf("%s %q: a line of %d bytes", kind, text, len(line))
				}
			}
		}
	}
}
