// Package chaostest kills worker processes while deliveries flow and compares
// what a provider was asked with what the database says. It holds only tests.
package chaostest
