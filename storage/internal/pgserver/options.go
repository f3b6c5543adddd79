package pgserver

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// Options are those of both adapters, each of which explains them to its hosts: an alias
// would hide the comments.
type Options struct {
	Clock               driver.Clock
	Rand                io.Reader
	Environment         string
	StopOnLoss          bool
	BlobDir             string
	Schema, TablePrefix string
	Migrate             sqlstore.Migrate
	Notify              bool
	MaxOpenConns        int
	IOTimeout           time.Duration
	Later               bool
}

// Away says that opening failed since the server is away, or none of several is a primary
// at present, and that the host wants a store nevertheless.
func (o Options) Away(err error) bool {
	if !o.Later || err == nil {
		return false
	}
	if s := (*ServerError)(nil); errors.As(err, &s) {
		return s.away
	}
	return errors.Is(err, driver.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || Classify(err) == sqlstore.Connection
}

// Conns bounds the pool that Open makes.
func (o Options) Conns() int {
	if o.MaxOpenConns <= 0 {
		return 10
	}
	return o.MaxOpenConns
}

// MaxIdleTime is how long a connection of such a pool may lie idle.
const MaxIdleTime = 5 * time.Minute

// Timeout bounds a read or a write on such a pool; zero is not a bound.
func (o Options) Timeout() time.Duration {
	if o.IOTimeout == 0 {
		return 30 * time.Second
	}
	return max(0, o.IOTimeout)
}
