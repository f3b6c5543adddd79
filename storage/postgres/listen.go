package postgres

import (
	"context"
	"net"

	"github.com/lib/pq"
)

// listener makes the function that listens on dsn until its context ends.
func listener(dsn string) func(ctx context.Context, hear func(payload string)) {
	return func(ctx context.Context, hear func(payload string)) {
		d := &listenDialer{}
		l := pq.NewDialListener(d, dsn, minRelisten, maxRelisten, nil)
		subscribed := make(chan struct{})
		go func() {
			defer close(subscribed)
			_ = l.Listen(channel) // waits for a connection, or for Close
		}()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case n := <-l.NotificationChannel():
				if n != nil { // nil: it was disconnected for a while
					hear(n.Extra)
				}
			}
		}
		d.end() // or Close could wait for a silent network
		_ = l.Close()
		<-subscribed
	}
}

// listenDialer dials for a listener until its attempt has ended. Its reads have
// no bound: most of the time there is nothing to hear.
type listenDialer struct {
	dialer
	attempt
}

func (d *listenDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.dialer.DialContext(context.WithValue(ctx, attemptKey{}, &d.attempt), network, address)
}
