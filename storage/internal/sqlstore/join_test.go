package sqlstore

import (
	"errors"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
)

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
