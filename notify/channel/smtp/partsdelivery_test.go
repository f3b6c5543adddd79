//go:build linux

package smtp

import (
	"crypto/tls"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRealServerDeliversEveryPart(t *testing.T) {
	t.Parallel()
	s, roots := startExim(t)
	c := open(t, s.addr, &Options{TLSConfig: &tls.Config{RootCAs: roots}, Username: "school", Password: "secret"})
	m, want := withParts(1 << 20)
	send(t, c, m)
	_ = c.Close()
	s.finish()
	if diff := cmp.Diff(want, leaves(t, s.delivered(t)[m.To])); diff != "" {
		t.Error(diff)
	}
}
