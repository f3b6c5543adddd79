// Package notifyhttp serves parts of package notify over HTTP, for a host that
// mounts its handlers behind its own router. No handler works without knowing who
// is calling: by the host's word, or, for providers' callbacks, by their
// signature. What a caller may see and do follows from that, never from the
// address.
package notifyhttp
