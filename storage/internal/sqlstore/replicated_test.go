package sqlstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

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

// While one transaction asks whether the database has forgotten commits, or waits for the
// standbys, no other one goes on: it could claim what was sent.
func TestOthersWaitForTheAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asks  string // the statement that one of them says
		doubt func(*Store)
	}{
		"forgotten":  {`"version"`, func(s *Store) { s.remember(&tx{last: witness{schema: &jobs.Schema}}); s.Suspect() }},
		"replicated": {"logical_emit", func(s *Store) { s.unreplicated.raise() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answered, f := make(chan struct{}), &fake{}
				asked := 0
				f.answer = func(_ context.Context, text string) error {
					if strings.Contains(text, c.asks) {
						asked++
						<-answered
					}
					return nil
				}
				s := f.store(t, nil)
				c.doubt(s)
				var both sync.WaitGroup
				runs := 0
				for range 2 {
					both.Go(func() {
						if err := look(t.Context(), s, &runs); err != nil {
							t.Error(err)
						}
					})
					synctest.Wait()
				}
				if runs > 0 || asked != 1 {
					t.Errorf("%d ran before the answer, which was asked for %d times", runs, asked)
				}
				close(answered)
				both.Wait()
				if runs != 2 || asked != 1 {
					t.Errorf("%d ran, asked %d times", runs, asked)
				}
			})
		})
	}
}
