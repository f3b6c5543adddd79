package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
)

// Several processes work on one file: each row is claimed by one of them.
func TestI6_ProcessesShareAFile(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Check)
	s, path := onFile(t, nil)
	const rows, processes = 600, 4
	insert(t, s, dueTasks(rows)...)
	outputs := make([][]byte, processes)
	var all sync.WaitGroup
	for n := range processes {
		all.Go(func() {
			var err error
			if outputs[n], err = process(t.Context(), "claim", path).Output(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	claims := map[string]int{}
	for _, out := range outputs {
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			claims[lines.Text()]++
		}
	}
	for key, n := range claims {
		if n != 1 {
			t.Errorf("%s was claimed %d times", key, n)
		}
	}
	if len(claims) != rows {
		t.Errorf("%d rows of %d were claimed", len(claims), rows)
	}
	if n := scan[int](t, s.DB(), "SELECT count(*) FROM task WHERE version = 2 AND status = 'Busy'"); n != rows {
		t.Errorf("%d rows are held", n)
	}
	if got := scan[string](t, s.DB(), "PRAGMA integrity_check"); got != "ok" {
		t.Error(got)
	}
}

// claimAll claims a few rows at a time until there are none, and prints the keys.
func claimAll(ctx context.Context, path string) error {
	s, err := Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	for n := 1; n > 0; {
		err := s.InTx(ctx, func(tx driver.Tx) error {
			rows, err := tasks.Claim(ctx, tx, claimOf(fmt.Sprint(os.Getpid()), 7))
			n = len(rows)
			for _, r := range rows {
				fmt.Println(r.Key)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Processes that are started at once find no file, and all of them work.
func TestProcessesOpenANewFileAtOnce(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/new.db"
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			s, err := Open(t.Context(), path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.CheckTables(t.Context(), driver.Schemas()...); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
