// Package repotest checks what holds for the repository as a whole: pages that
// are printed from code, tables that the migrations make, who may read across
// tenants, who may import whom, and who may use real time. It holds only tests.
package repotest
