package automation

import "testing"

// A metric's attribute has few values and holds no data, so a host's own reason
// does not become one.
//
//spec:a-065
func TestAHostsReasonIsNoAttribute(t *testing.T) {
	t.Parallel()
	for reason, want := range map[Reason]string{
		Superseded: "Superseded", Invalidated: "Invalidated", "left: sam@example.com": "Host", "": "Host",
	} {
		if got := reason.word(); got != want {
			t.Errorf("%q is counted as %q, not %q", reason, got, want)
		}
	}
}
