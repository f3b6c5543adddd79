// Package pgx keeps Belfry's tables in PostgreSQL 13 or newer.
package pgx
