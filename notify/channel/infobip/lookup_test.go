package infobip

import (
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestLogsTellWhatBecameOfACall(t *testing.T) {
	t.Parallel()
	entry := func(group, name string) map[string]string {
		return map[string]string{"messageId": id, "groupName": group, "name": name}
	}
	noCredits := entry(rejected, "REJECTED_NOT_ENOUGH_CREDITS")
	for name, c := range map[string]struct {
		logs    []map[string]string
		attempt int
		want    channel.LookupStatus
	}{
		"not there":                {nil, 1, channel.LookupUnknown},
		"pending":                  {[]map[string]string{entry(pending, "PENDING_ENROUTE")}, 1, channel.LookupAccepted},
		"delivered":                {[]map[string]string{entry(delivered, "DELIVERED_TO_HANDSET")}, 1, channel.LookupAccepted},
		"undeliverable":            {[]map[string]string{entry(undeliverable, "UNDELIVERABLE_NOT_DELIVERED")}, 1, channel.LookupAccepted},
		"rejected":                 {[]map[string]string{noCredits}, 1, channel.LookupAbsent},
		"rejected, but which call": {[]map[string]string{noCredits}, 2, channel.LookupUnknown},
		"rejected, then accepted":  {[]map[string]string{noCredits, entry(pending, "PENDING_ACCEPTED")}, 2, channel.LookupAccepted},
		"repeat rejected":          {[]map[string]string{entry(rejected, duplicate)}, 1, channel.LookupUnknown},
		"new group":                {[]map[string]string{entry("QUEUED", "QUEUED")}, 1, channel.LookupUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil)
			s.logs = c.logs
			m := message()
			m.Attempt = c.attempt
			for _, ch := range []*Channel{sms(t, s, Options{}), whatsApp(t, s)} {
				got, err := ch.Lookup(t.Context(), m)
				if err != nil || got.Status != c.want || (got.Receipt.ID == id) != (c.want == channel.LookupAccepted) {
					t.Error(ch.Key(), got, err)
				}
			}
		})
	}
}

func TestLostAnswerIsFoundInTheLogs(t *testing.T) {
	t.Parallel()
	var s *server
	s = serve(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			s.mu.Lock()
			s.logs = append(s.logs, map[string]string{"messageId": id, "groupName": pending, "name": "PENDING_ACCEPTED"})
			s.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		return false
	})
	c := sms(t, s, Options{})
	if err := refuse(t, c, message()); err.Class != channel.ClassUnknown {
		t.Fatal(err)
	}
	if got, err := c.Lookup(t.Context(), message()); err != nil || got.Status != channel.LookupAccepted {
		t.Error(got, err)
	}
}

func TestLookupThatFailsSaysNothing(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]script{
		"fails": says(500, "GENERAL_ERROR"), "no such path": says(404, "NOT_FOUND"), "too many": says(429, "TOO_MANY_REQUESTS"),
		"no JSON": raw(200, "<html>+41793026727"), "drops": func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sms(t, serve(t, answer), Options{}).Lookup(t.Context(), message())
			if err == nil || got != (channel.LookupResult{}) || strings.Contains(err.Error(), "41793026727") {
				t.Error(got, err)
			}
		})
	}
}

func TestAnotherMessageInTheLogsIsNotOurs(t *testing.T) {
	t.Parallel()
	s := serve(t, raw(200, `{"results":[{"messageId":"other","status":{"groupName":"DELIVERED","name":"DELIVERED_TO_HANDSET"}}]}`))
	if got, err := sms(t, s, Options{}).Lookup(t.Context(), message()); err != nil || got.Status != channel.LookupUnknown {
		t.Error(got, err)
	}
}
