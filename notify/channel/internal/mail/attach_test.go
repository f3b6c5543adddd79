package mail_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	netmail "net/mail"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/notify/channel"
)

// part is what a reader makes of one part of a mail; a multipart has parts.
type part struct {
	Kind, Disposition, Name, ID string
	Data                        string
	Parts                       []part
}

func parts(t testing.TB, raw []byte) part {
	t.Helper()
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	p, err := readPart(m.Header.Get, m.Body)
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return p
}

func readPart(header func(string) string, body io.Reader) (p part, err error) {
	kind, params, err := mime.ParseMediaType(header("Content-Type"))
	if err != nil {
		return p, err
	}
	p.Kind = kind
	if strings.HasPrefix(kind, "multipart/") {
		return p, p.readAll(multipart.NewReader(body, params["boundary"]))
	}
	if d := header("Content-Disposition"); d != "" {
		var names map[string]string
		if p.Disposition, names, err = mime.ParseMediaType(d); err != nil {
			return p, err
		}
		p.Name = names["filename"]
	}
	p.ID = header("Content-Id")
	if header("Content-Transfer-Encoding") == "base64" {
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	data, err := io.ReadAll(body)
	p.Data = string(data)
	return p, err
}

func (p *part) readAll(r *multipart.Reader) error {
	for {
		next, err := r.NextPart() // decodes quoted-printable
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		child, err := readPart(next.Header.Get, next)
		if err != nil {
			return err
		}
		p.Parts = append(p.Parts, child)
	}
}

var (
	report = channel.Attachment{Name: "Prüfung 2026 – \"A\".pdf", MediaType: "application/pdf", Data: []byte("%PDF-1.7\r\n\x00\xff")}
	table  = channel.Attachment{Name: "table.csv", MediaType: "text/csv", Data: []byte("a,b\n1,2\n")}
	logo   = channel.Attachment{Name: "logo.png", MediaType: "image/png", ContentID: "logo-1.a", Data: bytes.Repeat([]byte("png"), 1000)}

	reportPart = part{Kind: "application/pdf", Disposition: "attachment", Name: report.Name, Data: string(report.Data)}
	tablePart  = part{Kind: "text/csv", Disposition: "attachment", Name: "table.csv", Data: string(table.Data)}
	logoPart   = part{Kind: "image/png", Disposition: "inline", Name: "logo.png", ID: "<logo-1.a>", Data: string(logo.Data)}
	logoFile   = part{Kind: "image/png", Disposition: "attachment", Name: "logo.png", ID: "<logo-1.a>", Data: string(logo.Data)}
	textPart   = part{Kind: "text/plain", Data: "It expires soon."}
	htmlPart   = part{Kind: "text/html", Data: "<img src=cid:logo-1.a>"}
)

func multi(kind string, parts ...part) part { return part{Kind: "multipart/" + kind, Parts: parts} }

func TestPartsAreWhereReadersLookForThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		html  string
		files []channel.Attachment
		want  part
	}{
		"text and a file":    {"", []channel.Attachment{report}, multi("mixed", textPart, reportPart)},
		"text and two files": {"", []channel.Attachment{report, table}, multi("mixed", textPart, reportPart, tablePart)},
		"both and a file":    {htmlPart.Data, []channel.Attachment{table}, multi("mixed", multi("alternative", textPart, htmlPart), tablePart)},
		"both and a picture": {htmlPart.Data, []channel.Attachment{logo}, multi("related", multi("alternative", textPart, htmlPart), logoPart)},
		"all of it": {htmlPart.Data, []channel.Attachment{report, logo, table},
			multi("mixed", multi("related", multi("alternative", textPart, htmlPart), logoPart), reportPart, tablePart)},
		"a picture that nothing shows": {"", []channel.Attachment{logo}, multi("mixed", textPart, logoFile)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := message()
			m.HTML, m.Attachments = c.html, c.files
			raw := build(t, m).Bytes
			if diff := cmp.Diff(c.want, parts(t, raw)); diff != "" {
				t.Error(diff)
			}
			if why := sane(raw); why != "" {
				t.Error(why)
			}
			if again := build(t, m).Bytes; !bytes.Equal(raw, again) {
				t.Error("equal messages give other bytes")
			}
		})
	}
}

func TestOnlyHTMLShowsItsPictures(t *testing.T) {
	t.Parallel()
	m := message()
	m.Text, m.HTML, m.Attachments = "", htmlPart.Data, []channel.Attachment{logo}
	if diff := cmp.Diff(multi("related", htmlPart, logoPart), parts(t, build(t, m).Bytes)); diff != "" {
		t.Error(diff)
	}
}

// A text that looks like the head of a part is none, whatever it holds.
func TestTextThatLooksLikeABoundaryStaysText(t *testing.T) {
	t.Parallel()
	m := message()
	m.HTML, m.Attachments = "<p>", []channel.Attachment{logo, table}
	m.Text = "x\nContent-Type: multipart/mixed;\n boundary\x01" + strings.Repeat("ab", 29) + "\n--" + strings.Repeat("ab", 30)
	got := parts(t, build(t, m).Bytes)
	if text := got.Parts[0].Parts[0].Parts[0].Data; text != strings.ReplaceAll(m.Text, "\n", "\r\n") {
		t.Errorf("%q", text)
	}
}

func TestBoundariesDifferAndDependOnTheParts(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	all := func(change func(*channel.Message)) {
		m := message()
		m.HTML, m.Attachments = "<p>", []channel.Attachment{logo, table}
		change(&m)
		for _, line := range strings.Split(string(build(t, m).Bytes), "\r\n") {
			if boundary, found := strings.CutPrefix(line, " boundary="); found {
				if seen[boundary] {
					t.Error("the same boundary again")
				}
				seen[boundary] = true
			}
		}
	}
	all(func(*channel.Message) {})
	all(func(m *channel.Message) { m.Text = "" + m.Text + "!" })
	all(func(m *channel.Message) { m.Attachments = []channel.Attachment{table, logo} })
	all(func(m *channel.Message) { m.Attachments[0].Data = []byte("other") })
	all(func(m *channel.Message) { m.Attachments[0].Name = "other.png" })
	if len(seen) != 15 {
		t.Errorf("%d boundaries", len(seen))
	}
}

func TestAttachmentThatNoMailCanHoldIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*channel.Attachment){
		"no name":           func(a *channel.Attachment) { a.Name = "" },
		"line break":        func(a *channel.Attachment) { a.Name = "canary\r\nBcc: eve@example.com" },
		"NUL":               func(a *channel.Attachment) { a.Name = "canary\x00" },
		"no UTF-8":          func(a *channel.Attachment) { a.Name = "canary\xff" },
		"long name":         func(a *channel.Attachment) { a.Name = strings.Repeat("n", 201) },
		"encoded word":      func(a *channel.Attachment) { a.Name = "=?utf-8?q?canary=0D=0A?=" },
		"no type":           func(a *channel.Attachment) { a.MediaType = "" },
		"half a type":       func(a *channel.Attachment) { a.MediaType = "canary" },
		"type with more":    func(a *channel.Attachment) { a.MediaType = "text/plain; canary=1" },
		"type with a break": func(a *channel.Attachment) { a.MediaType = "text/plain\r\nX-Canary: 1" },
		"multipart":         func(a *channel.Attachment) { a.MediaType = "multipart/mixed" },
		"mail":              func(a *channel.Attachment) { a.MediaType = "message/rfc822" },
		"content id":        func(a *channel.Attachment) { a.ContentID = "canary>\r\nX: <" },
	} {
		m := message()
		m.Attachments = []channel.Attachment{table}
		change(&m.Attachments[0])
		_, err := sender(t).Build(m)
		typed, ok := err.(*channel.Error)
		if !ok || typed.Class != channel.ClassPermanent || typed.Code != "attachment" || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryNameIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := sender(t)
	rapid.Check(t, func(r *rapid.T) {
		m := message()
		m.HTML = "<p>"
		m.Attachments = []channel.Attachment{
			{Name: rapid.StringN(1, 50, 200).Draw(r, "name"), MediaType: "application/pdf", Data: rapid.SliceOf(rapid.Byte()).Draw(r, "data")},
			logo,
		}
		built, err := s.Build(m)
		if err != nil {
			r.Skip("refused")
		}
		if why := sane(built.Bytes); why != "" {
			r.Fatalf("%s in\n%q", why, built.Bytes)
		}
		got := parts(t, built.Bytes).Parts[1]
		want := part{Kind: "application/pdf", Disposition: "attachment", Name: m.Attachments[0].Name, Data: string(m.Attachments[0].Data)}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("%s\n%q", diff, built.Bytes)
		}
	})
}
