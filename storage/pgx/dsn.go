package pgx

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-go/belfry/storage/internal/pgserver"
)

// parse completes dsn, a URL or key=value pairs, with the defaults and refuses what
// would not be safe.
func parse(dsn string, conns int) (*pgxpool.Config, error) {
	full, err := pgserver.Complete(dsn, "")
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
		cfg.MaxConns = int32(pgserver.Options{}.Conns())
	}
	cfg.MaxConnIdleTime, cfg.PingTimeout = pgserver.MaxIdleTime, time.Second
	return cfg, pgserver.Refuse(target(full), cfg.ConnConfig.ConnectTimeout, cfg.ConnConfig.RuntimeParams)
}

var wanted = regexp.MustCompile(`target_session_attrs\s*=\s*'?([a-z-]+)`)

// target is the server that pgx was told to look for, which it does not say.
func target(full string) string {
	if all := wanted.FindAllStringSubmatch(full, -1); len(all) > 0 {
		return all[len(all)-1][1]
	}
	return os.Getenv("PGTARGETSESSIONATTRS")
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
