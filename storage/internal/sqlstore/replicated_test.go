package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
)

// After an unknown commit the next transaction waits for the standbys, until they have it
// or the server says that it cannot.
func TestWhatAnUnknownCommitLeftIsReplicatedFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says error
		want string // of three transactions after the unknown commit
	}{
		{nil, "BEGIN BEGIN SELECT COMMIT BEGIN SELECT COMMIT BEGIN SELECT COMMIT"},
		{errOdd, "BEGIN ROLLBACK BEGIN SELECT COMMIT BEGIN SELECT COMMIT BEGIN SELECT COMMIT"},
		{errGone, "BEGIN BEGIN BEGIN"},
	} {
		f, runs := &fake{answer: first("COMMIT", errGone)}, 0
		s := f.store(t, nil)
		if err := look(t.Context(), s, &runs); !errors.Is(err, driver.ErrOutcomeUnknown) {
			t.Fatal(err)
		}
		f.texts = nil
		f.answer = func(_ context.Context, text string) error {
			if strings.Contains(text, "logical_emit") {
				return c.says
			}
			return nil
		}
		for range 3 {
			if err := look(t.Context(), s, &runs); (err != nil) != errors.Is(c.says, errGone) {
				t.Errorf("%v: %v", c.says, err)
			}
		}
		if f.log() != c.want {
			t.Errorf("%v: %s", c.says, f.log())
		}
	}
}
