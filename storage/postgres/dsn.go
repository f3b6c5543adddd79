package postgres

import (
	"fmt"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/storage/internal/pgserver"
)

// DSNError refuses a setting of a connection string, of the environment or of
// a service file. It never holds the connection string, which has a password.
type DSNError = pgserver.DSNError

// defaults are added to a connection string that does not have them, unless the
// environment variable is set.
var defaults = []pgserver.Default{
	{Name: "binary_parameters", Value: "yes", Env: ""},
	{Name: "target_session_attrs", Value: "read-write", Env: "PGTARGETSESSIONATTRS"},
	{Name: "connect_timeout", Value: "10", Env: "PGCONNECT_TIMEOUT"},
	{Name: "application_name", Value: "belfry", Env: "PGAPPNAME"},
}

// parse completes dsn, a URL or key=value pairs, with the defaults and refuses
// what would not be safe. It returns the completed string too.
func parse(dsn string) (pq.Config, string, error) {
	full, err := pgserver.Complete(dsn, defaults)
	if err != nil {
		return pq.Config{}, "", err
	}
	cfg, err := pq.NewConfig(full)
	if err != nil {
		return pq.Config{}, "", pgserver.Malformed(err)
	}
	return cfg, full, refuse(cfg)
}

func refuse(cfg pq.Config) error {
	switch {
	case !cfg.BinaryParameters:
		return &DSNError{Setting: "binary_parameters", Problem: "no: behind a transaction pooler, statements of other clients would run in place of ours; leave it out"}
	case cfg.TargetSessionAttrs != pq.TargetSessionAttrsReadWrite && cfg.TargetSessionAttrs != pq.TargetSessionAttrsPrimary:
		return &DSNError{Setting: "target_session_attrs", Problem: fmt.Sprintf("%s could connect to a replica; write read-write, or leave it out", cfg.TargetSessionAttrs)}
	case cfg.ConnectTimeout <= 0:
		return &DSNError{Setting: "connect_timeout", Problem: "0 waits for ever on a silent network; give seconds, or leave it out for 10"}
	}
	return pgserver.RefuseSettings(cfg.Runtime)
}
