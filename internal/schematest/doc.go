// Package schematest compares the tables of all domains with the databases that
// the migrations make. It holds only tests.
package schematest
