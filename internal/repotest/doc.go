// Package repotest checks what holds for the repository as a whole: pages that
// are printed from code, tables that the migrations make, and who may read
// across tenants. It holds only tests.
package repotest
