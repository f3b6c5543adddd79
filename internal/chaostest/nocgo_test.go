//go:build !cgo

package chaostest

const cgo = false // SQLite is the one of programs that are built without
