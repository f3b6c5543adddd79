package sendgrid

import (
	"strings"
	"testing"
)

// FuzzRead looks for a callback that is signed and yet breaks the parser, or
// whose events could not be stored.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`[{"event":"bounce","type":"blocked","sg_event_id":"e","sg_message_id":"a.filter1","belfry_message":"a","timestamp":1772352000,"status":"5.1.1"}]`))
	f.Add([]byte(`[{"event":["bounce"],"sg_event_id":7,"belfry_message":"a","timestamp":1e99,"status":"+4915112345678"}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, _ := read(body)
		for _, e := range got {
			if e.EventID == "" || e.MessageID == "" || e.Kind == "" || len(e.Code) > 40 || strings.ContainsAny(e.EventID+e.ProviderMessageID+e.Code, " \x00") || e.On.Year() > 2300 {
				t.Errorf("%+v", e)
			}
		}
	})
}
