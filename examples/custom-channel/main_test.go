package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestThePlayEndsAsItShould(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v after:\n%s", err, out.String())
	}
	if !strings.HasSuffix(out.String(), "the tower Delivered\n") {
		t.Error(out.String())
	}
}
