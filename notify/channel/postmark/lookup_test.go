package postmark

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/sendtest"
)

// TestLostAnswerIsFound: a mail whose answer was lost is found by our id, and only it.
func TestLostAnswerIsFound(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	s.then = func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) } // it has the mail, and nobody knows
	c := open(t, s, Options{})
	other := letter()
	other.ID = "another"
	for _, m := range []channel.Message{other, letter()} {
		if err := refuse(t, c, m); err.Class != channel.ClassUnknown {
			t.Fatal(err)
		}
	}
	s.date = now.Add(time.Hour)
	got, err := c.Lookup(t.Context(), letter())
	if want := (channel.LookupResult{Status: channel.LookupAccepted, Receipt: channel.Receipt{ID: "b7bc2f4a-2"}}); err != nil || got != want {
		t.Error(got, err)
	}
	if got, err := open(t, s, Options{Stream: "broadcast"}).Lookup(t.Context(), letter()); err != nil || got.Status != channel.LookupAbsent {
		t.Error("in another stream:", got, err)
	}
}

// What is not found is absent by Postmark's own clock, a quarter of an hour after the call
// began, and not a second earlier.
func TestWhatIsNotFoundIsAbsentAfterAWhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		date time.Time
		m    channel.Message
		want channel.LookupStatus
	}{
		"at once":      {now, letter(), channel.LookupUnknown},
		"soon":         {now.Add(settled - time.Second), letter(), channel.LookupUnknown},
		"later":        {now.Add(settled), letter(), channel.LookupAbsent},
		"clocks apart": {now.Add(-time.Hour), letter(), channel.LookupUnknown},
		"no call":      {now.Add(time.Hour), channel.Message{ID: id}, channel.LookupUnknown},
	} {
		s := serve(t, nil)
		s.date = c.date
		if got, err := open(t, s, Options{}).Lookup(t.Context(), c.m); err != nil || got.Status != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestSearchThatSaysNothingDecidesNothing(t *testing.T) {
	t.Parallel()
	found := func(total int, metadata string) string {
		return fmt.Sprintf(`{"TotalCount":%d,"Messages":[{"MessageID":"x","Subject":"canary","Metadata":%s}]}`, total, metadata)
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"other messages":   {sendtest.Says(200, found(1, `{"belfry_message":"other"}`)), errOtherMessages.Error()},
		"no metadata":      {sendtest.Says(200, found(1, `null`)), errOtherMessages.Error()},
		"a count alone":    {sendtest.Says(200, `{"TotalCount":3}`), errOtherMessages.Error()},
		"no count":         {sendtest.Says(200, `{}`), "channel: Unknown send error 200 no-count: postmark: answer 200 no-count"},
		"no JSON":          {sendtest.Says(200, "canary"), "postmark: answer 200 is not the JSON that is documented"},
		"wrong token":      {says(401, 10, "canary"), "channel: Transient send error 401 10: postmark: answer 401 10"},
		"fails":            {sendtest.Says(500, "canary"), "channel: Unknown send error 500: postmark: answer 500"},
		"a parameter":      {says(422, 300, "canary"), "channel: Permanent send error 422 300: postmark: answer 422 300"},
		"no such endpoint": {sendtest.Says(404, ""), "channel: Transient send error 404: postmark: answer 404"},
	} {
		s := serve(t, answering(c.answer))
		s.date = now.Add(time.Hour)
		got, err := open(t, s, Options{}).Lookup(t.Context(), letter())
		if diff := cmp.Diff(c.want, fmt.Sprint(err)); diff != "" || got != (channel.LookupResult{}) {
			t.Errorf("%s: %v %s", name, got, diff)
		}
	}
	if _, err := open(t, serve(t, nil), Options{}).Lookup(t.Context(), channel.Message{ID: "canary&x=1"}); err == nil || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}
