package file

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestLookupLooksIntoTheFolder(t *testing.T) {
	t.Parallel()
	c := New(t.TempDir(), nil)
	if got := lookup(t, c); got != (channel.LookupResult{Status: channel.LookupAbsent}) {
		t.Errorf("before: %+v", got)
	}
	send(t, c, message())
	want := channel.LookupResult{Status: channel.LookupAccepted, Receipt: channel.Receipt{ID: id + ".eml"}}
	if got := lookup(t, c); got != want {
		t.Errorf("after: %+v", got)
	}
}

func TestCrashBeforeTheNameLeavesNothingThatCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	left := []string{}
	for range 3 { // each try dies between writing and naming
		name, err := writeTemp(root, id, []byte("half a mail"))
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, name)
	}
	c := New(dir, nil)
	if got := lookup(t, c); got.Status != channel.LookupAbsent {
		t.Errorf("%+v", got)
	}
	send(t, c, message())
	if diff := cmp.Diff(append(left, id+".eml"), names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestCrashAfterTheNameIsAccepted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if err := create(root, id, []byte("a mail")); err != nil {
		t.Fatal(err)
	}
	if got := lookup(t, New(dir, nil)); got.Status != channel.LookupAccepted {
		t.Errorf("%+v", got)
	}
}

func TestMissingFolderIsNoAnswer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "mail")
	c := New(dir, nil)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Lookup(t.Context(), message()); err == nil || got.Status != channel.LookupUnknown {
		t.Errorf("%+v, %v", got, err)
	}
	send(t, c, message()) // makes it again
}

func TestLookupRefusesWhatItCannotAnswer(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		ctx context.Context
		id  string
	}{"context has ended": {cancelled, id}, "path as id": {t.Context(), "../" + id}} {
		m := message()
		m.ID = c.id
		if got, err := New(dir, nil).Lookup(c.ctx, m); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
