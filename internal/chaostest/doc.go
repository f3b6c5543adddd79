// Package chaostest kills worker processes while deliveries flow, and the database's
// server, and compares what a provider was asked with what the database says. The
// stories are played on every driver ([Driver]), in other modules too. Only tests
// import it.
package chaostest
