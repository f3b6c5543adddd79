// Package hostpool holds the contract of storage on the pool of a host that has
// pgx under database/sql, and measures it there. It has tests only, and is in this
// module because the library itself does not depend on pgx:
//
//	go test ./hostpool                   the suite, directly and through a pooler
//	BELFRY_TEST=nightly go test ./hostpool  in every mode of pgx
//	go test ./hostpool -run '^$' -bench .
package hostpool
