package driver

import (
	"errors"
	"fmt"
)

// races bounds how often one call begins again because others came between.
const races = 100

// RetryStale calls f, which reads rows and writes them back, until no other has written them
// in between: while its error is an [ErrStale], and a hundred times at most. Then what
// kept changing, and the error is an [ErrBusy].
func RetryStale(what string, f func() error) error {
	for range races {
		if err := f(); !errors.Is(err, ErrStale) {
			return err
		}
	}
	return fmt.Errorf("%s kept changing: %w", what, ErrBusy)
}
