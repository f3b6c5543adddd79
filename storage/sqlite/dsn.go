package sqlite

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// dsn is the parsed first argument of Open.
type dsn struct {
	file   string // file: URI without parameters, or ":memory:"
	host   url.Values
	memory bool
}

// writing are the settings of the writing connection; reading those of the
// others. WAL is a property of the file, so only the writer asks for it.
var (
	writing = map[string]string{
		// A deferred transaction fails when it turns to writing after another one.
		"_txlock":       "immediate",
		"_journal_mode": "WAL",
		// The wait for another process's lock ignores the context, so it is short,
		// and repeated around it.
		"_busy_timeout":    "100",
		"_stmt_cache_size": "64",
		// database/sql lets one goroutine at a time use a connection.
		"_mutex": "no",
	}
	reading = map[string]string{
		"_query_only":      "1",
		"_busy_timeout":    "100",
		"_stmt_cache_size": "16",
		"_mutex":           "no",
	}
)

// allowed are the parameters that a host may give, and their values; none: any.
var allowed = map[string][]string{
	"vfs": nil, "_cache_size": nil, "_auto_vacuum": nil, "_secure_delete": nil,
	"mode": {"rw", "rwc"}, "cache": {"private"},
	"_txlock": {"immediate"}, "_journal_mode": {"WAL", "wal"}, "_journal": {"WAL", "wal"},
}

// reasons explain the refusals that people will meet.
var reasons = map[string]string{
	"mode":          "the store writes; for a database in memory the path is :memory:",
	"cache":         "a shared cache locks whole tables and ignores the busy timeout",
	"immutable":     "the file changes",
	"_txlock":       "deferred transactions fail when they turn to writing",
	"_journal_mode": "without WAL readers and the writer lock each other out",
	"_journal":      "without WAL readers and the writer lock each other out",
	"_synchronous":  "set Options.Synchronous",
	"_sync":         "set Options.Synchronous",
	"_busy_timeout": "the store waits by itself: set Options.BusyTimeout",
	"_timeout":      "the store waits by itself: set Options.BusyTimeout",
	"_query_only":   "the store writes",
	"_locking_mode": "other processes, and the store's own readers, work on the file too",
	"_locking":      "other processes, and the store's own readers, work on the file too",
}

// parse reads a path, ":memory:" or a file: URI, each with parameters behind a
// question mark or without.
func parse(path string) (dsn, error) {
	file, query, _ := strings.Cut(path, "?")
	if file == "" || file == "file:" {
		return dsn{}, fmt.Errorf("sqlite: the path is empty; a database in memory is %q", memory)
	}
	params, err := url.ParseQuery(query)
	if err != nil {
		return dsn{}, fmt.Errorf("sqlite: parameters of %q: %w", path, err)
	}
	for name, values := range params {
		for _, v := range values {
			if err := checkParam(name, v); err != nil {
				return dsn{}, err
			}
		}
	}
	d := dsn{file: file, host: params, memory: file == memory || file == "file:"+memory}
	switch {
	case d.memory:
		d.file = memory
	case !strings.HasPrefix(file, "file:"):
		d.file = "file:" + strings.NewReplacer("%", "%25", "#", "%23").Replace(file)
	}
	return d, nil
}

const memory = ":memory:"

func checkParam(name, value string) error {
	values, ok := allowed[name]
	if ok && (values == nil || slices.Contains(values, value)) {
		return nil
	}
	why := reasons[name]
	if why == "" {
		why = "it is not among those that are known to be safe"
	}
	return fmt.Errorf("sqlite: the parameter %s=%s is refused: %s", name, value, why)
}

// with is the driver's data source name with our settings.
func (d dsn) with(settings map[string]string, sync Synchronous) string {
	params := url.Values{}
	for name, values := range d.host {
		params[name] = values
	}
	params.Del("_journal")
	for name, v := range settings {
		params.Set(name, v)
	}
	if sync != "" {
		params.Set("_synchronous", string(sync))
	}
	if d.memory {
		params.Del("_journal_mode")
	}
	spelled(params)
	return d.file + "?" + params.Encode()
}
