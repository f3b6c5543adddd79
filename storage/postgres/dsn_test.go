package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"
)

func TestConnectionStringsGetSafeDefaults(t *testing.T) {
	t.Parallel()
	type settings struct {
		Host    string
		Binary  bool
		Target  pq.TargetSessionAttrs
		Timeout time.Duration
		Name    string
	}
	for dsn, want := range map[string]settings{
		"":                                      {"localhost", true, "read-write", 10 * time.Second, "belfry"},
		"host=db":                               {"db", true, "read-write", 10 * time.Second, "belfry"},
		"postgres://u:p@db/app?sslmode=disable": {"db", true, "read-write", 10 * time.Second, "belfry"},
		"postgresql://db/app?connect_timeout=3&application_name=x":           {"db", true, "read-write", 3 * time.Second, "x"},
		"host=db connect_timeout=3 target_session_attrs=primary":             {"db", true, "primary", 3 * time.Second, "belfry"},
		"host=db application_name='my app' binary_parameters=yes":            {"db", true, "read-write", 10 * time.Second, "my app"},
		"host=db default_transaction_isolation='read committed'":             {"db", true, "read-write", 10 * time.Second, "belfry"},
		"host=db default_transaction_read_only=off synchronous_commit=local": {"db", true, "read-write", 10 * time.Second, "belfry"},
	} {
		cfg, _, err := parse(dsn)
		if err != nil {
			t.Errorf("%q: %v", dsn, err)
			continue
		}
		got := settings{cfg.Host, cfg.BinaryParameters, cfg.TargetSessionAttrs, cfg.ConnectTimeout, cfg.ApplicationName}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", dsn, diff)
		}
	}
}

// The URL of several hosts is that of PostgreSQL's own clients, each with its port.
func TestAURLNamesSeveralHosts(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string][]string{
		"postgres://app@one:5433,two:5434/db": {"one 5433", "two 5434"},
		"postgres://app@one,two:5434/db":      {"one 5432", "two 5434"},
		"postgres://app@one,two/db":           {"one 5432", "two 5432"},
		"postgres://app@one:5433/db":          {"one 5433"},
	} {
		cfg, _, err := parse(dsn)
		if err != nil {
			t.Errorf("%q: %v", dsn, err)
			continue
		}
		got := []string{fmt.Sprint(cfg.Host, " ", cfg.Port)}
		for _, m := range cfg.Multi {
			got = append(got, fmt.Sprint(m.Host, " ", m.Port))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", dsn, diff)
		}
	}
}

func TestUnsafeSettingsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for dsn, setting := range map[string]string{
		"binary_parameters=no":                              "binary_parameters",
		"postgres://db/app?binary_parameters=no":            "binary_parameters",
		"target_session_attrs=any":                          "target_session_attrs",
		"target_session_attrs=standby":                      "target_session_attrs",
		"target_session_attrs=prefer-standby":               "target_session_attrs",
		"postgres://db/app?target_session_attrs=read-only":  "target_session_attrs",
		"connect_timeout=0":                                 "connect_timeout",
		"default_transaction_read_only=on":                  "default_transaction_read_only",
		"default_transaction_isolation=serializable":        "default_transaction_isolation",
		"default_transaction_isolation='repeatable read'":   "default_transaction_isolation",
		"postgres://db/app?synchronous_commit=off":          "synchronous_commit",
		"standard_conforming_strings=off":                   "standard_conforming_strings",
		"postgres://db/app?default_transaction_read_only=1": "default_transaction_read_only",
	} {
		_, _, err := parse(dsn)
		var refused *DSNError
		if !errors.As(err, &refused) || refused.Setting != setting {
			t.Errorf("%q: %v, want a refusal of %s", dsn, err, setting)
		}
	}
}

func TestMalformedConnectionStringsAreRefusedWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	for dsn, says := range map[string]string{
		"sslmode=maybe": "sslmode",
		"postgres://u:canary@db/app?sslmode=maybe": "sslmode",
		"postgres://u:canary%zz@db/app":            "URL",
		"postgres://u:can ary@db:5432/app":         "URL",
		"host=db password=can ary":                 "key=value",
		"host=db password='canary":                 "key=value",
		"port=canary":                              "port",
	} {
		_, _, err := parse(dsn)
		var refused *DSNError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want a refusal that says %s", dsn, err, says)
			continue
		}
		if text := err.Error(); says != "port" && (strings.Contains(text, "canary") || strings.Contains(text, "ary\"")) {
			t.Errorf("%q: the error shows the password: %s", dsn, text)
		}
	}
}
