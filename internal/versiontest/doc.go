// Package versiontest has programs of two versions share a database: that of the oldest
// commit which is supported, by storage/oldest.txt, and that of today.
package versiontest
