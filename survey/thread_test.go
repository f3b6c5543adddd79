package survey_test

import "testing"

// An event becomes an instance, and its link goes out.
//
//spec:t-006 t-007
func TestAnEventBecomesALink(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		h.ingest()
		h.drain()
		if got := len(h.sent()); got != 1 {
			h.t.Fatalf("%d links went out, want 1", got)
		}
	})
}
