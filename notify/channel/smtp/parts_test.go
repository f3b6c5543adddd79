package smtp

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

	"github.com/belfry-go/belfry/notify"
)

// leaf is one part of a mail, and the multiparts that it is in.
type leaf struct{ Path, Kind, Name, Data string }

func leaves(t *testing.T, raw string) (all []leaf) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, header func(string) string, body io.Reader)
	walk = func(path string, header func(string) string, body io.Reader) {
		kind, params, err := mime.ParseMediaType(header("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		if in, ok := strings.CutPrefix(kind, "multipart/"); ok {
			parts := multipart.NewReader(body, params["boundary"])
			for p, err := parts.NextPart(); err != io.EOF; p, err = parts.NextPart() {
				if err != nil {
					t.Fatal(err)
				}
				walk(path+in+"/", p.Header.Get, p)
			}
			return
		}
		if header("Content-Transfer-Encoding") == "base64" {
			body = base64.NewDecoder(base64.StdEncoding, body)
		}
		data, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		_, names, _ := mime.ParseMediaType(header("Content-Disposition"))
		all = append(all, leaf{path, kind, names["filename"], string(data)})
	}
	walk("", m.Header.Get, m.Body)
	return all
}

// withParts is a message with a picture in its HTML and a file of that size that
// has every byte.
func withParts(size int) (notify.Message, []leaf) {
	m := message()
	m.Text, m.HTML = "It expires soon.", "<img src=cid:logo>"
	var every []byte
	for i := range size {
		every = append(every, byte(i))
	}
	m.Attachments = []notify.Attachment{
		{Name: "Prüfung.pdf", MediaType: "application/pdf", Data: every},
		{Name: "logo.png", MediaType: "image/png", ContentID: "logo", Data: bytes.Repeat([]byte{'.', '\r', '\n'}, 1000)},
	}
	return m, []leaf{
		{"mixed/related/alternative/", "text/plain", "", m.Text}, {"mixed/related/alternative/", "text/html", "", m.HTML},
		{"mixed/related/", "image/png", "logo.png", string(m.Attachments[1].Data)}, {"mixed/", "application/pdf", "Prüfung.pdf", string(every)},
	}
}

func TestServerGetsEveryPart(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	m, want := withParts(3000)
	m.UnsubscribeURL = "https://school.example/u?t=abc"
	send(t, open(t, s.addr, nil), m)
	got := s.accepted()[0]
	if diff := cmp.Diff(want, leaves(t, got)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(got, "List-Unsubscribe: <https://school.example/u?t=abc>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n") {
		t.Error("no way to unsubscribe")
	}
}

func TestAttachmentThatNoMailCanHoldDoesNotReachTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	m, _ := withParts(1)
	m.Attachments[0].Name = "a\r\nBcc: eve@example.com"
	if err := refuse(t.Context(), t, open(t, s.addr, nil), m); err.Class != notify.ClassPermanent || err.Code != "attachment" {
		t.Error(err)
	}
	wantConnections(t, s, 0)
}
