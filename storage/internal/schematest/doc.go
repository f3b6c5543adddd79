// Package schematest compares the tables of all domains with the databases that
// the migrations make. It holds only tests, and is here since only packages
// below storage may look into the adapters.
package schematest
