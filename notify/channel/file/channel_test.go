package file

import (
	"io/fs"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
)

const id = "0123456789abcdef0123456789abcdef"

func message() notify.Message {
	return notify.Message{ID: id, To: "sam@example.com", Name: "Sam", Subject: "Your certificate", Text: "It expires soon.",
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

func send(t *testing.T, c *Channel, m notify.Message) {
	t.Helper()
	got, err := c.Send(t.Context(), m)
	if err != nil || got != (notify.Receipt{ID: m.ID + ".eml"}) {
		t.Fatalf("Send: %+v, %v", got, err)
	}
}

func lookup(t *testing.T, c *Channel) notify.LookupResult {
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
