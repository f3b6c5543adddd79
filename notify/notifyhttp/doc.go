// Package notifyhttp serves parts of package notify over HTTP, for a host that
// mounts its handlers behind its own router. No handler works without the host's
// word on who is calling: what a caller may see and do follows from that, never
// from the address.
package notifyhttp
