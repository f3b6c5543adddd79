package storage

// few is up to how many rows are not worth a goroutine.
const few = 64

// beside runs f about n rows while the caller does something else, and returns a
// function that waits for its answer, as often as it is asked. A panic comes back
// there too.
func beside(n int, f func() error) (answer func() error) {
	if n <= few {
		err := f()
		return func() error { return err }
	}
	var (
		err      error
		panicked any
		done     = make(chan struct{})
	)
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		err = f()
	}()
	return func() error {
		<-done
		if panicked != nil {
			panic(panicked)
		}
		return err
	}
}
