package postgres

import (
	"github.com/lib/pq"

	"github.com/belfry-go/belfry/storage/internal/pgserver"
)

// DSNError refuses a setting of a connection string, of the environment or of
// a service file. It never holds the connection string, which has a password.
type DSNError = pgserver.DSNError

// parse completes dsn, a URL or key=value pairs, with the defaults and refuses
// what would not be safe. It returns the completed string too.
func parse(dsn string) (pq.Config, string, error) {
	full, err := pgserver.Complete(dsn, "binary_parameters")
	if err != nil {
		return pq.Config{}, "", err
	}
	cfg, err := pq.NewConfig(full)
	if err != nil {
		return pq.Config{}, "", pgserver.Malformed(err)
	}
	if !cfg.BinaryParameters {
		return cfg, "", &DSNError{Setting: "binary_parameters", Problem: "no: behind a transaction pooler, statements of other clients would run in place of ours; leave it out"}
	}
	return cfg, full, pgserver.Refuse(string(cfg.TargetSessionAttrs), cfg.ConnectTimeout, cfg.Runtime)
}
