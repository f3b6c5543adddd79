// Package reachtest says to every method that takes a scope one that no row can
// have, and looks whether anything of a tenant is read or changed by it. It holds
// only tests.
package reachtest
