package infobip

import (
	"strings"
	"testing"
)

// FuzzRead looks for a report that breaks the parser, or whose events could not
// be stored.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"results":[{"messageId":"a","doneAt":"2026-03-01T09:00:00.000+0100","status":{"groupName":"DELIVERED","name":"DELIVERED_TO_HANDSET"}}]}`))
	f.Add([]byte(`{"results":[{"messageId":7,"callbackData":{"a":1},"status":{"groupName":"REJECTED","name":["x"]},"error":{"name":"+41793026727"},"seenAt":1e9}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, _ := read(body)
		for _, e := range got {
			if e.ProviderMessageID == "" || e.Kind == "" || len(e.Code) > 40 || len(e.EventID) > 260 || strings.ContainsAny(e.EventID+e.Code+e.MessageID, "@ \x00") {
				t.Errorf("%+v", e)
			}
		}
	})
}
