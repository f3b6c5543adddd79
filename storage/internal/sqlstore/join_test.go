package sqlstore

import (
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

func TestJoinedTransactionsNeitherClaimNorExtend(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := f.store(t, nil)
	tx := s.Join(s.cfg.Writer.(*Database).DB)
	_, err := jobs.Claim(t.Context(), tx, driver.Claim{Lanes: []driver.LaneClaim{{Limit: 1}}})
	if !errors.Is(err, driver.ErrJoined) {
		t.Errorf("Claim: %v", err)
	}
	if _, err := jobs.Extend(t.Context(), tx, time.Time{}, &job{}); !errors.Is(err, driver.ErrJoined) {
		t.Errorf("Extend: %v", err)
	}
	if f.log() != "" || tx.Store() != driver.Store(s) {
		t.Errorf("statements %q, store %v", f.log(), tx.Store())
	}
}

// Only the host can repeat its transaction, as a whole.
func TestJoinedTransactionsAskTheHostToRepeat(t *testing.T) {
	t.Parallel()
	for said, want := range map[error]error{errSerial: driver.ErrRetryTx, errBusy: driver.ErrBusy, errGone: driver.ErrUnavailable} {
		f := &fake{answer: first("SELECT", said)}
		s := f.store(t, nil)
		tx := s.Join(s.cfg.Writer.(*Database).DB)
		_, err := jobs.Count(t.Context(), tx, "", 1)
		if !errors.Is(err, want) {
			t.Errorf("%v became %v", said, err)
		}
		if _, again := jobs.Count(t.Context(), tx, "", 1); again != err || f.log() != "SELECT" {
			t.Errorf("the next verb: %v after %s", again, f.log())
		}
	}
}
