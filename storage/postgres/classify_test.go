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

	"github.com/belfry-go/belfry/storage/internal/sqltext"
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
	for state, want := range map[string]sqltext.Class{
		"23505": sqltext.Unique,
		"55P03": sqltext.LockTimeout,
		"40001": sqltext.Serialization,
		"40P01": sqltext.Serialization,
		"25006": sqltext.ReadOnly,
		"0A000": sqltext.Unsupported, // a BEGIN on a replica, or a cached plan
		"53100": sqltext.NoRoom,
		"57P01": sqltext.Connection,
		"57P02": sqltext.Connection,
		"57P03": sqltext.Connection,
		"08006": sqltext.Connection,
		"08P01": sqltext.Connection,
		"57014": sqltext.Unknown, // query_canceled: the context's business
		"42P01": sqltext.Unknown,
		"23514": sqltext.Unknown,
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
		want sqltext.Class
	}{
		{driver.ErrBadConn, sqltext.Connection},
		{io.EOF, sqltext.Connection},
		{io.ErrUnexpectedEOF, sqltext.Connection},
		{net.ErrClosed, sqltext.Connection},
		{reset, sqltext.Connection},
		{silent, sqltext.Connection},
		{pgxClosed{}, sqltext.Connection},
		{refused(errors.New("server is in hot standby mode")), sqltext.Connection},
		{context.DeadlineExceeded, sqltext.Unknown}, // also a net.Error
		{context.Canceled, sqltext.Unknown},
		{pq.ErrInFailedTransaction, sqltext.Undone},
		{errors.New("something else"), sqltext.Unknown},
		{nil, sqltext.Unknown},
	} {
		if got := classify(c.err); got != c.want {
			t.Errorf("%v is %v, want %v", c.err, got, c.want)
		}
	}
}
