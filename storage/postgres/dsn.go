package postgres

import (
	"net"
	"net/url"
	"strings"

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
	full = apart(full)
	cfg, err := pq.NewConfig(full)
	if err != nil {
		return pq.Config{}, "", pgserver.Malformed(err)
	}
	if !cfg.BinaryParameters {
		return cfg, "", &DSNError{Setting: "binary_parameters", Problem: "no: behind a transaction pooler, statements of other clients would run in place of ours; leave it out"}
	}
	return cfg, full, pgserver.Refuse(string(cfg.TargetSessionAttrs), cfg.ConnectTimeout, cfg.Runtime)
}

// apart writes the hosts of a URL and their ports as two lists: lib/pq takes "one:5433"
// for a name where there are several.
func apart(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || !strings.Contains(u.Host, ",") {
		return dsn
	}
	var hosts, ports []string
	for _, one := range strings.Split(u.Host, ",") {
		host, port, err := net.SplitHostPort(one)
		if err != nil {
			host, port = one, "5432"
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	q := u.Query()
	q.Set("host", strings.Join(hosts, ","))
	q.Set("port", strings.Join(ports, ","))
	u.Host, u.RawQuery = "", q.Encode()
	return u.String()
}
