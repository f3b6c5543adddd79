// Package migrations holds the SQL that makes Belfry's tables in PostgreSQL, for the
// adapters. Hosts get it from an adapter's ExportMigrations.
package migrations

import "embed"

// Files are the migrations, named NNNN_name.sql.
//
//go:embed *.sql
var Files embed.FS
