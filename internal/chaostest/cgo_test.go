//go:build cgo

package chaostest

const cgo = true // SQLite is the one of most programs
