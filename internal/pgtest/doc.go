// Package pgtest gives tests a real PostgreSQL without any setup: a private cluster, a
// fresh database per test, clusters of their own for tests that stop and kill them, and a
// real PgBouncer in front. A test process starts its own cluster, unless the run has one
// for all packages (see the command in run).
//
// A package that calls DSN has one TestMain:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// A cluster does not outlive the process that started it, however that ends:
// on Linux the kernel stops it, and the next run clears its files away. It is
// deliberately less friendly than a developer's own server, in the ways real
// ones are: databases sort linguistically (ICU en-US) and the session time zone
// is Asia/Kathmandu, so whatever leans on byte order or on UTC without asking
// for it fails here. On the cluster of DSN fsync is off, which only a power failure
// could tell, and no test has one.
//
// Environment:
//   - BELFRY_POSTGRES_DSN: URL of a server to create the databases of DSN on
//     instead; its user may create databases. New still starts its own.
//   - BELFRY_TEST_CLUSTER: URL of the private cluster of this run, set by the command in
//     run alone. It goes with the run.
//   - BELFRY_REQUIRE_POSTGRES=1 or CI=true: a missing PostgreSQL or PgBouncer
//     fails the first test that needs it instead of skipping it. A process says
//     once what is missing; the other tests that need it are skipped.
//
// Only tests and bench import it.
package pgtest
