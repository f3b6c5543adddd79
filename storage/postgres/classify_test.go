package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// pgxError has the shape of an error of the server as pgx reports it.
type pgxError struct{ code string }

func (e *pgxError) Error() string    { return "ERROR: (SQLSTATE " + e.code + ")" }
func (e *pgxError) SQLState() string { return e.code }

// pgxClosed has the shape of pgx's error for a connection that was closed.
type pgxClosed struct{}

func (pgxClosed) Error() string     { return "conn closed" }
func (pgxClosed) SafeToRetry() bool { return true }

func TestErrorsOfTheServerAreClassified(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]sqlstore.Class{
		"23505": sqlstore.Unique,
		"55P03": sqlstore.LockTimeout,
		"40001": sqlstore.Serialization,
		"40P01": sqlstore.Serialization,
		"25006": sqlstore.ReadOnly,
		"0A000": sqlstore.Unsupported, // a BEGIN on a replica, or a cached plan
		"53100": sqlstore.NoRoom,
		"57P01": sqlstore.Connection,
		"57P02": sqlstore.Connection,
		"57P03": sqlstore.Connection,
		"08006": sqlstore.Connection,
		"08P01": sqlstore.Connection,
		"57014": sqlstore.Unknown, // query_canceled: the context's business
		"42P01": sqlstore.Unknown,
		"23514": sqlstore.Unknown,
	} {
		for _, err := range []error{&pq.Error{Code: pqerror.Code(state)}, &pgxError{state}} {
			if got := classify(fmt.Errorf("claim: %w", err)); got != want {
				t.Errorf("%T %s is %v, want %v", err, state, got, want)
			}
		}
	}
}

func TestErrorsOfTheConnectionAreClassified(t *testing.T) {
	t.Parallel()
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	silent := &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	for _, c := range []struct {
		err  error
		want sqlstore.Class
	}{
		{driver.ErrBadConn, sqlstore.Connection},
		{io.EOF, sqlstore.Connection},
		{io.ErrUnexpectedEOF, sqlstore.Connection},
		{net.ErrClosed, sqlstore.Connection},
		{reset, sqlstore.Connection},
		{silent, sqlstore.Connection},
		{pgxClosed{}, sqlstore.Connection},
		{refused(errors.New("server is in hot standby mode")), sqlstore.Connection},
		{context.DeadlineExceeded, sqlstore.Unknown}, // also a net.Error
		{context.Canceled, sqlstore.Unknown},
		{pq.ErrInFailedTransaction, sqlstore.Undone},
		{errors.New("something else"), sqlstore.Unknown},
		{nil, sqlstore.Unknown},
	} {
		if got := classify(c.err); got != c.want {
			t.Errorf("%v is %v, want %v", c.err, got, c.want)
		}
	}
}
