package mail_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/notify/channel"
)

var headerText = rapid.Custom(func(t *rapid.T) string {
	words := rapid.SliceOfN(rapid.OneOf(
		rapid.StringN(0, 12, 40),
		rapid.SampledFrom([]string{"", " ", "  ", "\t", "a", "=?", "?=", "\"", "<x@y>", strings.Repeat("w", 75), strings.Repeat("ü", 40)}),
	), 0, 12).Draw(t, "words")
	text := strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(strings.Join(words, " "))
	return strings.ToValidUTF8(text[:min(len(text), 900)], "")
})

func collapse(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' }), " ")
}

// lines is how a mail has the line breaks of a text.
func lines(s string) string {
	return strings.ReplaceAll(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n", "\r\n")
}

func TestEveryMailReadsAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := sender(t)
	rapid.Check(t, func(r *rapid.T) {
		m := message()
		m.Subject, m.Name = headerText.Draw(r, "subject"), headerText.Draw(r, "name")
		m.Text, m.HTML = rapid.String().Draw(r, "text"), rapid.String().Draw(r, "html")
		built, err := s.Build(m)
		if err != nil {
			r.Skip("refused") // an encoded word, or empty
		}
		if why := sane(built.Bytes); why != "" {
			r.Fatalf("%s in\n%q", why, built.Bytes)
		}
		got, _, err := read(built.Bytes)
		if err != nil {
			r.Fatal(err)
		}
		want := letter{Subject: collapse(m.Subject), ToName: strings.ReplaceAll(collapse(m.Name), `\`, "/"), To: m.To, Text: lines(m.Text), HTML: lines(m.HTML)}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("%s\n%q", diff, built.Bytes)
		}
	})
}

// FuzzBuild holds that whatever a message says, it gets no header and no
// recipient of its own making.
func FuzzBuild(f *testing.F) {
	f.Add("0af", "sam@example.com", "Sam", "Hello\r\nBcc: x@y.z", "text", "<p>")
	f.Add("0af", "\"a> b\"@example.com", " a  \t b ", strings.Repeat("x", 66)+"  "+strings.Repeat("y", 80)+" ", ".\r\n.", "")
	f.Add("0af", "j\u00f6rg@example.com", "=?utf-8?q?x?=", "\u2028\v\x1b", "\r\r\n\n", "=")
	s := sender(f)
	f.Fuzz(func(t *testing.T, id, to, name, subject, text, html string) {
		m := message()
		m.ID, m.To, m.Name, m.Subject, m.Text, m.HTML = id, to, name, subject, text, html
		built, err := s.Build(m)
		if err != nil {
			if c := channel.Classify(err); c.Class != channel.ClassPermanent {
				t.Fatalf("not Permanent: %v", err)
			}
			return
		}
		if why := sane(built.Bytes); why != "" {
			t.Fatalf("%s in\n%q", why, built.Bytes)
		}
		got, parsed, err := read(built.Bytes)
		if err != nil {
			t.Fatalf("%v in\n%q", err, built.Bytes)
		}
		if built.To != "<"+to+">" || strings.ContainsAny(built.To, "\r\n") {
			t.Errorf("To: %q, envelope %q", got.To, built.To)
		}
		if got.Subject != collapse(subject) {
			t.Errorf("Subject: %q instead of %q", got.Subject, collapse(subject))
		}
		for key, values := range parsed.Header {
			if !strings.Contains(" Auto-Submitted Content-Transfer-Encoding Content-Type Date From Message-Id Mime-Version Subject To ", " "+key+" ") || len(values) != 1 {
				t.Errorf("header %s: %q", key, values)
			}
		}
		if utf8.ValidString(text) && !strings.Contains(text, "\x00") && got.Text != lines(text) {
			t.Errorf("Text: %q instead of %q", got.Text, lines(text))
		}
	})
}
