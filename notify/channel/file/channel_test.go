package file

import (
	"context"
	"errors"
	"io/fs"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/notify/channel"
)

const id = "0123456789abcdef0123456789abcdef"

func message() channel.Message {
	return channel.Message{ID: id, To: "sam@example.com", Name: "Sam", Subject: "Your certificate", Text: "It expires soon.",
		On: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
}

// names lists the folder, hidden files too.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func send(t *testing.T, c *Channel, m channel.Message) {
	t.Helper()
	got, err := c.Send(t.Context(), m)
	if err != nil || got != (channel.Receipt{ID: m.ID + ".eml"}) {
		t.Fatalf("Send: %+v, %v", got, err)
	}
}

func lookup(t *testing.T, c *Channel) channel.LookupResult {
	t.Helper()
	got, err := c.Lookup(t.Context(), message())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSendWritesOneCompleteMail(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "mail")
	c := New(dir, &Options{From: "School <office@school.example>", ReplyTo: "help@school.example"})
	send(t, c, message())
	if diff := cmp.Diff([]string{id + ".eml"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
	f, err := os.Open(filepath.Join(dir, id+".eml"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	m, err := netmail.ReadMessage(f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, key := range []string{"From", "Reply-To", "To", "Subject", "Message-Id", "Date"} {
		got[key] = m.Header.Get(key)
	}
	want := map[string]string{
		"From": `"School" <office@school.example>`, "Reply-To": "<help@school.example>", "To": `"Sam" <sam@example.com>`,
		"Subject": "Your certificate", "Message-Id": "<" + id + "@school.example>", "Date": "Sun, 01 Mar 2026 08:00:00 +0000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]fs.FileMode{f.Name(): 0o600, dir: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestSecondSendLeavesTheFirstFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := New(dir, nil)
	send(t, c, message())
	first, _ := os.ReadFile(filepath.Join(dir, id+".eml"))
	other := message()
	other.Subject = "Another subject"
	send(t, c, other)
	second, err := os.ReadFile(filepath.Join(dir, id+".eml"))
	if err != nil || string(first) != string(second) {
		t.Errorf("%v: %s", err, cmp.Diff(string(first), string(second)))
	}
}

func TestManyWritersOfOneMessageLeaveOneWholeFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() { // each as if in a process of its own
			m := message()
			m.Text = strings.Repeat(string(rune('a'+i)), 20_000)
			if _, err := New(dir, nil).Send(t.Context(), m); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff([]string{id + ".eml"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
	raw, err := os.ReadFile(filepath.Join(dir, id+".eml"))
	_, body, _ := strings.Cut(string(raw), "\r\n\r\n")
	body = strings.ReplaceAll(body, "=\r\n", "")
	if err != nil || len(body) != 20_000 || strings.Trim(body, body[:1]) != "" {
		t.Errorf("%v: %d bytes of more than one writer", err, len(body))
	}
}

func TestKeyMayBeChosen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := []string{New(dir, nil).Key(), New(dir, &Options{Key: "email:archive"}).Key()}
	if diff := cmp.Diff([]string{"email:file", "email:archive"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWriterThatComesSecondLeavesTheFirstFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for _, text := range []string{"first", "second"} { // both found no file before
		if err := create(root, id, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, id+".eml")); string(got) != "first" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFileHoldsEveryPartAndIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	m := message()
	m.HTML = "<img src=cid:logo>"
	m.Attachments = []channel.Attachment{
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

func TestErrorsHaveTheirClass(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := t.TempDir()
	if err := os.Mkdir(filepath.Join(taken, id+".eml"), 0o700); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		dir    string
		change func(*channel.Message)
		want   channel.Class
	}{
		"folder is a file":     {t.Context(), file, func(*channel.Message) {}, channel.ClassTransient},
		"folder has that name": {t.Context(), taken, func(*channel.Message) {}, channel.ClassTransient},
		"context has ended":    {cancelled, t.TempDir(), func(*channel.Message) {}, channel.ClassTransient},
		"no address":           {t.Context(), t.TempDir(), func(m *channel.Message) { m.To = "sam" }, channel.ClassPermanent},
		"header injection":     {t.Context(), t.TempDir(), func(m *channel.Message) { m.Subject = "a\r\nBcc: b@c.d" }, channel.ClassPermanent},
		"path as id":           {t.Context(), t.TempDir(), func(m *channel.Message) { m.ID = "../" + id }, channel.ClassPermanent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := message()
			c.change(&m)
			_, err := New(c.dir, nil).Send(c.ctx, m)
			var typed *channel.Error
			if !errors.As(err, &typed) || typed.Class != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestFullDiskIsTransient(t *testing.T) {
	t.Parallel()
	for cause, code := range map[error]string{syscall.ENOSPC: "disk-full", syscall.EACCES: "permission", syscall.EIO: "file"} {
		got := channel.Classify(refused(&fs.PathError{Op: "write", Path: "x", Err: cause}))
		if got.Class != channel.ClassTransient || got.Code != code {
			t.Errorf("%v: %+v", cause, got)
		}
	}
}

func TestNewPanicsOnProgrammerErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dir  string
		opts Options
	}{"no folder": {"", Options{}}, "bad From": {"mail", Options{From: "school"}}, "bad ReplyTo": {"mail", Options{ReplyTo: "a@b\r\nX: y"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if text, _ := recover().(string); !strings.HasPrefix(text, "file: ") {
					t.Errorf("panic %q", text)
				}
			}()
			New(c.dir, &c.opts)
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
