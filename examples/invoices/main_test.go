package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheStoryEndsAsItShould(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "firm.db")
	var out bytes.Buffer
	if err := run(t.Context(), &out, db); err != nil {
		t.Fatalf("%v after:\n%s", err, out.String())
	}
	if !strings.HasSuffix(out.String(), "\n16 mails: 0 doubled or unexpected, 0 missing.\n") {
		t.Error(out.String())
	}
	if err := run(t.Context(), &out, db); err == nil {
		t.Error("the story was told twice on one file")
	}
}
