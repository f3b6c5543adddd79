package pgserver

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// silentPeer is a connection whose other end never answers nor reads.
func silentPeer(t *testing.T, bound time.Duration) *Conn {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	c := &Conn{Conn: near, bound: new(atomic.Int64)}
	c.bound.Store(int64(bound))
	return c
}

func TestReadsAndWritesOnASilentNetworkEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, use := range map[string]func(*Conn) error{
			"read":  func(c *Conn) error { _, err := c.Read(make([]byte, 1)); return err },
			"write": func(c *Conn) error { _, err := c.Write(make([]byte, 1)); return err },
		} {
			for how, c := range map[string]*Conn{
				"bound":   silentPeer(t, time.Minute),
				"expired": silentPeer(t, 0),
				"limit":   silentPeer(t, time.Hour),
			} {
				switch how {
				case "expired":
					c.Expire(time.Minute)
				case "limit":
					if err := c.SetDeadline(time.Unix(1, 0)); err != nil {
						t.Fatal(err)
					}
				}
				if err := use(c); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s, %s: %v", name, how, err)
				}
				if !c.broken.Load() {
					t.Errorf("%s, %s: the connection passes for a good one", name, how)
				}
			}
		}
	})
}

func TestExpiringEndsAReadUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := silentPeer(t, 0)
		done := make(chan error)
		go func() {
			_, err := c.Read(make([]byte, 1))
			done <- err
		}()
		synctest.Wait()
		c.Expire(time.Minute)
		if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	})
}

// The driver clears its handshake's deadline; that must not clear ours.
func TestDriverCannotLiftAnExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := silentPeer(t, 0)
		c.Expire(time.Minute)
		if err := c.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	})
}
