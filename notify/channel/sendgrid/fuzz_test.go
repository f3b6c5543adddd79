package sendgrid

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzRead looks for a callback that is signed and yet breaks the parser, or
// whose events could not be stored.
func FuzzRead(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(events, id)))
	f.Add([]byte(`[{"event":["bounce"],"sg_event_id":7,"belfry_message":"a","timestamp":1e99,"status":"+4915112345678"}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, _ := read(body)
		for _, e := range got {
			if e.EventID == "" || e.MessageID == "" || e.Kind == "" || len(e.Code) > 40 || strings.Contains(e.Code, "@") || e.On.Year() > 2300 {
				t.Errorf("%+v", e)
			}
		}
	})
}
