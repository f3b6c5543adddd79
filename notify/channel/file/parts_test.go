package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify"
)

func TestFileHoldsEveryPartAndIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	m := message()
	m.HTML = "<img src=cid:logo>"
	m.Attachments = []notify.Attachment{
		{Name: "certificate.pdf", MediaType: "application/pdf", Data: []byte("%PDF")},
		{Name: "logo.png", MediaType: "image/png", ContentID: "logo", Data: []byte("png")},
	}
	var texts []string
	for range 2 {
		dir := t.TempDir()
		send(t, New(dir, nil), m)
		text, err := os.ReadFile(filepath.Join(dir, id+".eml"))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, want := range []string{
		"multipart/mixed", "multipart/related", "multipart/alternative",
		"Content-Disposition: attachment; filename=certificate.pdf", "JVBERg==", // %PDF
		"Content-Disposition: inline; filename=logo.png", "Content-Id: <logo>", "cG5n",
	} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("no %s", want)
		}
	}
	if texts[0] != texts[1] {
		t.Error("the same message makes two files")
	}
}
