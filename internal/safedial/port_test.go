package safedial

import (
	"errors"
	"testing"
)

func TestOnlyPortsOfTheWebAreCalled(t *testing.T) {
	t.Parallel()
	plain, more := Dialer{Trusted: []string{"hooks.internal"}}, Dialer{Ports: []int{8443}}
	for address, want := range map[string]struct{ plain, more bool }{
		"8.8.8.8:80":                   {true, true},
		"8.8.8.8:443":                  {true, true},
		"8.8.8.8:8443":                 {false, true},
		"8.8.8.8:25":                   {false, false},
		"8.8.8.8:0":                    {false, false},
		"[2606:4700:4700::1111]:443":   {true, true},
		"[2606:4700:4700::1111]:8443":  {false, true},
		"[2606:4700:4700::1111]:65535": {false, false},
		"[::ffff:8.8.8.8]:22":          {false, false},
		"10.0.0.1:8443":                {false, false},
	} {
		for d, want := range map[*Dialer]bool{&plain: want.plain, &more: want.more} {
			if err := d.check(t.Context(), "tcp4", address, nil); (err == nil) != want || err != nil && !errors.Is(err, ErrForbidden) {
				t.Errorf("%s with %v: %v", address, d.Ports, err)
			}
		}
	}
	for url, want := range map[string]bool{
		"https://a.example/": true, "https://a.example:443/": true, "https://a.example:80/": true, "https://a.example:8443/": false,
		"https://a.example:6379/": false, "https://a.example:99999/": false, "https://a.example:/": true,
		"https://hooks.internal:6379/": true, "http://hooks.internal:6379/": true, "http://a.example/": false,
	} {
		if plain.Callable(url) != want {
			t.Errorf("%s is callable: %t", url, !want)
		}
	}
	if !more.Callable("https://a.example:8443/") || more.Callable("https://a.example:8444/") {
		t.Error("a port that the host allows is its own only")
	}
}
