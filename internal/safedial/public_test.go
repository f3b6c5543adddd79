package safedial

import (
	"net/netip"
	"testing"
)

func TestOnlyThePublicInternetIsPublic(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "100.100.100.200", "100.127.255.255", "192.0.0.192", "198.18.0.1", "198.19.255.255",
		"192.0.2.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "168.63.129.16", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::a00:1", "100::1", "fc00::1", "fd00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0",
		"fec0::1", "ff02::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1", "3fff::1", "5f00::1", "4000::1", "2606:4700::1%eth0",
	} {
		if Public(netip.MustParseAddr(text)) {
			t.Errorf("%s counts as public", text)
		}
	}
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "168.63.129.15", "168.63.129.17", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "198.17.255.255",
		"198.20.0.0", "169.253.255.255", "223.255.255.255", "::ffff:8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888",
	} {
		if !Public(netip.MustParseAddr(text)) {
			t.Errorf("%s does not count as public", text)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address counts as public")
	}
}

// FuzzPublic holds that no form of an address changes what it is.
func FuzzPublic(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{169, 254, 169, 254})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		if Public(a) != Public(netip.AddrFrom16(a.As16())) {
			t.Errorf("%s is public in one form only", a)
		}
		if Public(a) && (a.IsPrivate() || a.IsLoopback() || a.IsMulticast() || a.IsLinkLocalUnicast() || !a.IsGlobalUnicast()) {
			t.Errorf("%s counts as public", a)
		}
	})
}
