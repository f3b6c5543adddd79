// Package chaostest kills worker processes while deliveries flow and compares
// what a provider was asked with what the database says. Only tests import it.
package chaostest
