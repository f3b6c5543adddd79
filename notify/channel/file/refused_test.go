package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-go/belfry/notify"
)

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
		change func(*notify.Message)
		want   notify.SendClass
	}{
		"folder is a file":     {t.Context(), file, func(*notify.Message) {}, notify.ClassTransient},
		"folder has that name": {t.Context(), taken, func(*notify.Message) {}, notify.ClassTransient},
		"context has ended":    {cancelled, t.TempDir(), func(*notify.Message) {}, notify.ClassTransient},
		"no address":           {t.Context(), t.TempDir(), func(m *notify.Message) { m.To = "sam" }, notify.ClassPermanent},
		"header injection":     {t.Context(), t.TempDir(), func(m *notify.Message) { m.Subject = "a\r\nBcc: b@c.d" }, notify.ClassPermanent},
		"path as id":           {t.Context(), t.TempDir(), func(m *notify.Message) { m.ID = "../" + id }, notify.ClassPermanent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := message()
			c.change(&m)
			_, err := New(c.dir, nil).Send(c.ctx, m)
			var typed *notify.SendError
			if !errors.As(err, &typed) || typed.Class != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestFullDiskIsTransient(t *testing.T) {
	t.Parallel()
	for cause, code := range map[error]string{syscall.ENOSPC: "disk-full", syscall.EACCES: "permission", syscall.EIO: "file"} {
		got := notify.Classify(refused(&fs.PathError{Op: "write", Path: "x", Err: cause}))
		if got.Class != notify.ClassTransient || got.Code != code {
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
