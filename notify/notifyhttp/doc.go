// Package notifyhttp serves parts of package notify over HTTP, for a host that mounts its
// handlers behind its own router. Every handler knows who is calling: from the host, or
// for providers' callbacks from their signature. The caller, never the address, decides
// what may be seen and done.
package notifyhttp
