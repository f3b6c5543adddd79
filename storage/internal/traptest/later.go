package traptest

import (
	"database/sql"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/driver"
)

// opensLater has nothing listen where the server is to be. Only with Options.Later a store
// opens; its calls fail, and nothing is claimed, until the server is there.
func opensLater(t *testing.T, a Adapter) {
	dsn := pgtest.DSN(t)
	server, look := pgtest.Addr(t, dsn), looking(t, dsn)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	dsn = pgtest.Via(t, dsn, addr)
	if _, err := a.Open(t.Context(), dsn, Options{}); err == nil {
		t.Fatal("without Later it opens")
	}
	s := a.reopened(t, dsn, Options{Later: true, Notify: true})
	unsure := s.Clock().(interface{ Uncertainty() time.Duration })
	if got := unsure.Uncertainty(); got < 15*time.Minute {
		t.Errorf("the clock says that it is off by at most %v", got)
	}
	for name, call := range map[string]func() error{
		"InTx":     func() error { return s.InTx(t.Context(), func(driver.Tx) error { return nil }) },
		"View":     func() error { return s.View(t.Context(), func(driver.Reader) error { return nil }) },
		"Identity": func() error { _, err := s.Identity(t.Context()); return err },
		"Next": func() error {
			_, err := s.Next(t.Context(), &Tasks.Schema, ClaimOf("", 1), Noon)
			return err
		},
	} {
		if err := call(); !errors.Is(err, driver.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	forward(t, addr, server)
	untilAnswered(t, look, func() error { return s.InTx(t.Context(), func(driver.Tx) error { return nil }) })
	if err := a.CreateTable(t.Context(), s, &Tasks.Schema); err != nil {
		t.Fatal(err)
	}
	if err := Insert(t.Context(), s, DueTasks(1)...); err != nil || Count(t, s) != 1 {
		t.Error(err)
	}
	untilAnswered(t, look, func() error {
		if unsure.Uncertainty() > time.Minute {
			return errors.New("the clock does not know yet")
		}
		return nil
	})
}

// untilAnswered waits until f succeeds; look pauses.
func untilAnswered(t *testing.T, look *sql.DB, f func() error) {
	t.Helper()
	err := f()
	for range 1200 {
		if err == nil {
			return
		}
		exec(t, look, "SELECT pg_sleep(0.05)")
		err = f()
	}
	t.Fatal(err)
}

// forward listens at an address for a server elsewhere.
func forward(t *testing.T, addr, server string) {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = client.Close() }()
				far, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer func() { _ = far.Close() }()
				go func() {
					_, _ = io.Copy(far, client)
					_ = far.Close()
				}()
				_, _ = io.Copy(client, far)
			}()
		}
	}()
}
