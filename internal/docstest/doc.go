// Package docstest keeps pages of the documentation equal to the code that they
// are printed from. It holds only tests.
package docstest
