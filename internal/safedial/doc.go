// Package safedial makes connections on behalf of somebody who is not trusted:
// who names a host may mean this machine, its network, or the cloud's metadata
// service. So the address of every connection is checked when it is made, after
// the name was resolved, and only addresses of the public Internet pass. A name
// that is resolved anew, to another address, gains nothing.
//
// A dialer guards connections, not requests: whoever uses it follows no
// redirects, uses no proxy, and bounds what it reads.
package safedial
