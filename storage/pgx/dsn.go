package pgx

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/puddle/v2"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/pgserver"
)

const (
	defaultMaxOpenConns = 10
	maxIdleTime         = 5 * time.Minute
	pingTimeout         = time.Second
)

// defaults are added to a connection string that does not have them, unless the
// environment variable is set.
var defaults = []pgserver.Default{
	{Name: "target_session_attrs", Value: "read-write", Env: "PGTARGETSESSIONATTRS"},
	{Name: "connect_timeout", Value: "10", Env: "PGCONNECT_TIMEOUT"},
	{Name: "application_name", Value: "belfry", Env: "PGAPPNAME"},
}

// parse completes dsn, a URL or key=value pairs, with the defaults and refuses what
// would not be safe.
func parse(dsn string, conns int) (*pgxpool.Config, error) {
	full, err := pgserver.Complete(dsn, defaults)
	if err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(full)
	if err != nil {
		return nil, malformed(err)
	}
	switch {
	case conns > 0:
		cfg.MaxConns = int32(min(conns, 1<<20))
	case !strings.Contains(full, "pool_max_conns"):
		cfg.MaxConns = defaultMaxOpenConns
	}
	cfg.MaxConnIdleTime, cfg.PingTimeout = maxIdleTime, pingTimeout
	return cfg, refuse(cfg, full)
}

var wanted = regexp.MustCompile(`target_session_attrs\s*=\s*'?([a-z-]+)`)

// refuse refuses what would break a promise. pgx does not say which server it was told
// to look for.
func refuse(cfg *pgxpool.Config, full string) error {
	target := os.Getenv("PGTARGETSESSIONATTRS")
	if all := wanted.FindAllStringSubmatch(full, -1); len(all) > 0 {
		target = all[len(all)-1][1]
	}
	switch {
	case target != "read-write" && target != "primary":
		return &DSNError{Setting: "target_session_attrs", Problem: fmt.Sprintf("%s could connect to a replica; write read-write, or leave it out", target)}
	case cfg.ConnConfig.ConnectTimeout <= 0:
		return &DSNError{Setting: "connect_timeout", Problem: "0 waits for ever on a silent network; give seconds, or leave it out for 10"}
	}
	return pgserver.RefuseSettings(cfg.ConnConfig.RuntimeParams)
}

// malformed keeps what pgx says about a setting; it hides the password, but not a piece
// of one that it took for something else.
func malformed(err error) error {
	if p := (*pgconn.ParseConfigError)(nil); errors.As(err, &p) {
		if inner := errors.Unwrap(p); inner != nil {
			return pgserver.Malformed(inner)
		}
	}
	return &DSNError{Problem: "neither a URL nor pairs of the form key=value that can be parsed; quote values with spaces like 'this'"}
}

// refused says that the pool was closed, or what to do about a server that
// target_session_attrs refused. pgx does not
// tell a replica from a session that is read-only.
func refused(err error) error {
	switch {
	case errors.Is(err, puddle.ErrClosedPool):
		return driver.ErrClosed
	case errors.Is(err, pgconn.ErrStandbyConnection):
		return &ServerError{Problem: err.Error() + "; " + pgserver.UsePrimary}
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		return &ServerError{Problem: err.Error() + "; " + pgserver.UsePrimary + "; or " + pgserver.UnsetReadOnly}
	}
	return err
}
