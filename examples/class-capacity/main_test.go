package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"
)

func TestThePlayEndsAsItShould(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out, ""); err != nil {
		t.Fatalf("%v after:\n%s", err, out.String())
	}
	for _, line := range []string{`(?m)^ +mails +1 +2 +5 +6$`, `(?m)^  taken:20:FalseToTrue:source@3$`} {
		if !regexp.MustCompile(line).MatchString(out.String()) {
			t.Errorf("no %s in:\n%s", line, out.String())
		}
	}
}

func TestADatabaseThatExistsIsLeftAlone(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "studio.db")
	var out bytes.Buffer
	if err := run(t.Context(), &out, db); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), &out, db); err == nil {
		t.Error("the story was told twice on one file")
	}
}
