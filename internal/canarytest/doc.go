// Package canarytest plants strings as addresses, names, texts and secrets in one
// wide story in which nearly everything fails, and looks for them in everything that
// was logged, measured, traced or returned as an error. It holds only tests.
package canarytest
