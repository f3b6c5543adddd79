package safedial

import "net/netip"

// reserved are the networks of IPv4, and those in the global unicast part of
// IPv6, that are not the public Internet (IANA IPv4 and IPv6 Special-Purpose
// Address Registries).
var reserved = prefixes(
	"0.0.0.0/8",       // this network, unspecified
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // shared by carriers; metadata of some clouds
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local; metadata of most clouds
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // relays of 6to4
	"192.168.0.0/16",  // private
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, broadcast
	"2001::/23",       // protocol assignments, Teredo
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4, which holds an address of IPv4
	"3fff::/20",       // documentation
)

// unicast is all of IPv6 that is assigned to the public Internet. Outside of it
// are loopback, mapped and translated addresses (64:ff9b::/96), unique local,
// link-local, site-local and multicast ones.
var unicast = netip.MustParsePrefix("2000::/3")

// Public reports whether an address is one of the public Internet. An address of
// IPv4 in the form of IPv6 counts as what it is. A translator with a prefix of
// its own (RFC 6052) cannot be told from other networks; do not offer one to a
// machine that calls strangers.
func Public(a netip.Addr) bool {
	if a = a.Unmap(); !a.IsValid() || a.Zone() != "" || a.Is6() && !unicast.Contains(a) {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, text := range all {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}
