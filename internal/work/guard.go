package work

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic in a host's code, turned into a failure of its row.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %T", e.Value) }

// Guard calls f and turns a panic into a [*PanicError]. The value of the panic
// is not part of the error's text, since it may hold personal data.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
