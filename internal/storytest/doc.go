// Package storytest tells three stories of each domain on SQLite and PostgreSQL,
// as a host would see them. They are what a quick run knows of the domains on a
// database: one package, so that one cluster is enough. Other tests here are of all
// domains on one database: calls that only read, and tables with one more column. The
// domains' own tests run on every adapter at level nightly (see package testlevel).
package storytest
