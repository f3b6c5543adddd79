// River on SQLite is a module of its own, since its driver does not compile with
// the release of River that the comparison uses on PostgreSQL; see main.go.
module github.com/belfry-go/belfry/bench/riversqlite

go 1.26.0

require (
	github.com/belfry-go/belfry v0.0.0
	github.com/mattn/go-sqlite3 v1.14.52
	github.com/riverqueue/river v0.47.0
	github.com/riverqueue/river/riverdriver/riversqlite v0.47.0
)

require (
	github.com/benbjohnson/clock v1.3.5 // indirect
	github.com/riverqueue/river/riverdriver v0.47.0 // indirect
	github.com/riverqueue/river/rivershared v0.47.0 // indirect
	github.com/riverqueue/river/rivertype v0.47.0 // indirect
	github.com/tidwall/gjson v1.19.0 // indirect
	github.com/tidwall/match v1.2.0 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	golang.org/x/sync v0.24.0 // indirect
)

replace github.com/belfry-go/belfry => ../../
