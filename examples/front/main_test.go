package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
)

// The date moved and the old reminder was withdrawn; what was cleared is silent; the
// receipt went out once, and the answer became a ticket.
func TestTheFrontPageKeepsItsWord(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), filepath.Join(t.TempDir(), "app.db"), &out); err != nil {
		t.Fatal(err)
	}
	const want = `2026-03-01  to sam@example.com: We have your order
2026-03-01  to sam@example.com: How was your order?
ticket for sam: {"rate":2}
2026-05-02  to sam@example.com: Your certificate first-aid expires on 2026-06-01
`
	if got := out.String(); got != want {
		t.Errorf("it printed\n%s\nand not\n%s", got, want)
	}
}

// An order that is not saved has no receipt.
func TestWhatIsUndoneSendsNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a, err := newApp(t.Context(), filepath.Join(t.TempDir(), "app.db"), clock.NewMock(), &out)
	if err != nil {
		t.Fatal(err)
	}
	defer a.store.Close()
	first := a.order(t.Context(), "1001", "sam", "sam@example.com")
	if second := a.order(t.Context(), "1001", "kim", "kim@example.com"); first != nil || second == nil {
		t.Fatalf("the order is taken once: %v, then %v", first, second)
	}
	err = belfry.NewPoller(a.store, nil, a.out).Drain(t.Context())
	if got, want := out.String(), "1970-01-01  to sam@example.com: We have your order\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
}
