package webhook

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

// A server on this machine stands for all that a URL must not reach: it is asked
// for by every name that it has, and none of them gets there.
func TestNoURLReachesThisMachineOrItsNetwork(t *testing.T) {
	t.Parallel()
	s := receive(t, nil)
	c := open(t, s, Options{Trusted: []string{"hooks.internal"}})
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST", "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "[fe80::1]", "[ff02::1]",
	} {
		m := s.message()
		m.To = "https://" + host + ":" + u.Port() + "/"
		if err := refuse(t, c, m); err.Class != channel.ClassPermanent || err.Code != "forbidden-address" {
			t.Errorf("%s: %v", host, err)
		}
	}
	if requests, _, _ := s.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

func TestAPortThatIsNotOpenIsNotCalled(t *testing.T) {
	t.Parallel()
	s := receive(t, nil)
	c := open(t, s, Options{Trusted: []string{"hooks.internal"}, Ports: []int{8443}})
	for _, port := range []string{"22", "25", "6379", "8444", "65535"} {
		m := s.message()
		m.To = "https://a.example:" + port + "/"
		if err := refuse(t, c, m); err.Class != channel.ClassPermanent || err.Code != "address" {
			t.Errorf("%s: %v", port, err)
		}
	}
}

// A number is not an address of a host, whatever some libraries make of it.
func TestAddressInDisguiseReachesNothing(t *testing.T) {
	t.Parallel()
	s := receive(t, nil)
	c := open(t, s, Options{Trusted: []string{"hooks.internal"}, Timeout: 2 * time.Second}) // of a slow resolver
	for _, host := range []string{"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::1%25lo]", "127.0.0.1.", "localhost."} {
		m := s.message()
		m.To = strings.Replace(s.url, "127.0.0.1", host, 1)
		if err := refuse(t, c, m); err.Class == channel.ClassUnknown {
			t.Errorf("%s: %v", host, err)
		}
	}
	if requests, _, _ := s.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

// Not parallel, since the environment belongs to the process.
func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxy := receive(t, nil)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.server.URL)
	}
	c := open(t, proxy, Options{})
	m := proxy.message()
	m.To = "https://canary.invalid/"
	if err := refuse(t, c, m); err.Code != "dns" {
		t.Error(err)
	}
}
