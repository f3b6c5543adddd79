package work

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError is a panic in a host's code, turned into a failure of its row.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %T", e.Value) }

// errGoexit is the value of the PanicError of a host's code that ended its goroutine.
var errGoexit = errors.New("work: runtime.Goexit was called")

// Guard calls f and turns a panic into a [*PanicError], and runtime.Goexit too, which a
// test's Fatal calls: f has a goroutine of its own, so that not ours ends. The value of
// the panic is not part of the error's text, since it may hold personal data.
func Guard(f func() error) error {
	done := make(chan error, 1)
	go func() {
		var err error
		returned := false
		defer func() {
			if !returned {
				err = &PanicError{Value: errGoexit, Stack: debug.Stack()}
			}
			done <- err
		}()
		err = Recovered(f)
		returned = true
	}()
	return <-done
}

// Recovered calls f and turns a panic into a [*PanicError]. What ends the goroutine is
// left to the [Guard] around it: one goroutine for each row or recipient costs as much as
// the call does, most of it for a stack that grows again each time.
func Recovered(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// GuardEach calls f for 0 to n-1, each as [Guard] does, and done with what came of it
// before the next. They share a goroutine; one that ends takes no other with it.
func GuardEach(n int, f func(i int) error, done func(i int, err error)) {
	for i := 0; i < n; i++ {
		err := Guard(func() error {
			for ; i < n; i++ {
				done(i, Recovered(func() error { return f(i) }))
			}
			return nil
		})
		if i < n {
			done(i, err)
		}
	}
}
