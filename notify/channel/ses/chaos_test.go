package ses

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/chaostest"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// I-10 to I-12: SES ends its doubts by its reports. What waits for a person is counted and
// explained; see [chaostest.Reports].
func TestI12_SESEndsByReportsWhatItHas(t *testing.T) {
	t.Parallel()
	chaostest.Each(t, testlevel.Nightly, chaostest.Reports, drivers...)
}

// drivers send over two channels, of which the first one has a configuration set.
var drivers = []chaostest.Driver{
	{
		Name: "sqlite", SQLite: true, Channels: both,
		DSN: func(t testing.TB) string { return filepath.Join(t.TempDir(), "belfry.db") },
		Open: func(ctx context.Context, dsn string, clk clock.Clock) (*chaostest.Host, error) {
			s, err := sqlite.Open(ctx, dsn, &sqlite.Options{Clock: clk})
			if err != nil {
				return nil, err
			}
			return chaostest.SQL(s), nil
		},
	},
	{
		Name: "postgres", DSN: pgtest.DSN, Channels: both,
		Open: func(ctx context.Context, dsn string, clk clock.Clock) (*chaostest.Host, error) {
			s, err := postgres.Open(ctx, dsn, &postgres.Options{Clock: clk})
			if err != nil {
				return nil, err
			}
			return chaostest.SQL(s), nil
		},
	},
}

func both(provider string) (both []channel.Channel) {
	for _, o := range []Options{
		{From: "office@school.example", BaseURL: provider, ConfigurationSet: "school"},
		{From: "office@school.example", BaseURL: provider, Key: "email:silent"},
	} {
		c, err := New("eu-west-1", credentials, &o)
		if err != nil {
			panic(err)
		}
		both = append(both, c)
	}
	return both
}
