package twilio

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/sendtest"
)

// outcome is what a Send error comes to.
type outcome struct {
	Class      channel.Class
	Code       string
	RetryAfter time.Duration
}

// says is the script that answers with a documented error.
func says(status, code int, message string, retryAfter ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if retryAfter != nil {
			w.Header().Set("Retry-After", retryAfter[0])
		}
		fault(w, status, code, message)
		return true
	}
}

// raw is the script that answers with that text.
func raw(status int, text string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return true
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script func(http.ResponseWriter, *http.Request) bool
		want   outcome
	}{
		"bad number":        {says(400, 21211, "Invalid 'To' Phone Number: +14155550100"), outcome{channel.ClassPermanent, "400 21211", 0}},
		"has sent STOP":     {says(400, 21610, "Attempt to send to unsubscribed recipient"), outcome{channel.ClassPermanent, "400 21610", 0}},
		"no mobile":         {says(400, 21614, "'To' number is not a valid mobile number"), outcome{channel.ClassPermanent, "400 21614", 0}},
		"queue is full":     {says(400, 21611, "This 'From' number has exceeded the maximum number of queued messages"), outcome{channel.ClassTransient, "400 21611", 0}},
		"daily limit":       {says(429, 63038, "Account exceeded the daily messages limit", "3600"), outcome{channel.ClassTransient, "429 63038", time.Hour}},
		"daily limit, 400":  {says(400, 63038, "Account exceeded the daily messages limit"), outcome{channel.ClassTransient, "400 63038", 0}},
		"wrong credentials": {says(401, 20003, "Authenticate"), outcome{channel.ClassTransient, "401 20003", 0}},
		"not allowed":       {says(403, 20006, "Access Denied"), outcome{channel.ClassTransient, "403 20006", 0}},
		"no such account":   {says(404, 20404, "The requested resource was not found"), outcome{channel.ClassPermanent, "404 20404", 0}},
		"too many":          {says(429, 20429, "Too Many Requests", "2"), outcome{channel.ClassTransient, "429 20429", 2 * time.Second}},
		"fails":             {says(500, 20500, "An internal server error has occurred"), outcome{channel.ClassUnknown, "500 20500", 0}},
		"gateway fails":     {raw(502, "<html>+14155550100"), outcome{channel.ClassUnknown, "502", 0}},
		"not available":     {says(503, 20503, "Service unavailable", "60"), outcome{channel.ClassTransient, "503 20503", time.Minute}},
		"gateway times out": {raw(504, ""), outcome{channel.ClassUnknown, "504", 0}},
		"moved":             {raw(307, ""), outcome{channel.ClassTransient, "307", 0}},
		"strange page":      {raw(200, "<html>log in, +14155550100"), outcome{channel.ClassUnknown, "200 no-sid", 0}},
		"strange SID":       {raw(201, `{"sid":"+14155550100"}`), outcome{channel.ClassUnknown, "201 no-sid", 0}},
		"half a JSON":       {raw(201, `{"sid":"`+sid), outcome{channel.ClassUnknown, "201 no-sid", 0}},
		"number for a code": {raw(400, `{"code":"+14155550100"}`), outcome{channel.ClassPermanent, "400", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.script)
			err := refuse(t, sms(t, s, Options{}), message())
			if diff := cmp.Diff(c.want, outcome{err.Class, err.Code, err.RetryAfter}); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
			if text := err.Error(); strings.Contains(text, "4155550100") || strings.Contains(text, token) || strings.Contains(text, account) {
				t.Error("personal data in the error:", err)
			}
			if requests, _ := s.seen(); requests != 1 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

func TestI30_SendEndsWithItsContextAndItsTimeout(t *testing.T) {
	t.Parallel()
	answer, read := sendtest.Silent()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		answer(w, r)
		return true
	})
	sendtest.Ends(t, sms(t, s, Options{}), message(), read)
	sendtest.Late(t, sms(t, serve(t, nil), Options{Timeout: time.Nanosecond}), message())
}

func TestAnswersBlameTheChannelOrTheAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script func(http.ResponseWriter, *http.Request) bool
		want   channel.Fault
	}{
		"bad number":        {says(400, 21211, "Invalid 'To' Phone Number"), channel.FaultAddress},
		"has sent STOP":     {says(400, 21610, "Attempt to send to unsubscribed recipient"), channel.FaultAddress},
		"not our number":    {says(400, 21606, "The From phone number is not valid"), channel.FaultAccount},
		"queue is full":     {says(400, 21611, "The queue is full"), channel.FaultAccount},
		"wrong credentials": {says(401, 20003, "Authenticate"), channel.FaultAccount},
		"not allowed":       {says(403, 20006, "Access Denied"), channel.FaultAccount},
		"too many":          {says(429, 20429, "Too Many Requests"), channel.FaultAccount},
		"not available":     {says(503, 20503, "Service unavailable"), channel.FaultProvider},
		"moved":             {raw(307, ""), channel.FaultAccount},
		"too long":          {says(400, 21617, "The concatenated message body exceeds the limit"), ""},
		"fails":             {says(500, 20500, "An internal server error has occurred"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := refuse(t, sms(t, serve(t, c.script), Options{}), message()); err.Fault != c.want {
				t.Errorf("%v blames %q, want %q", err, err.Fault, c.want)
			}
		})
	}
}

func TestAnswersSuppressANumber(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]channel.SuppressionReason{
		21610: channel.Unsubscribe, 21211: channel.HardBounce, 21614: channel.HardBounce,
		21408: "", 21612: "", 21606: "", 21611: "", 21617: "",
	} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			t.Parallel()
			if err := refuse(t, sms(t, serve(t, says(400, code, "no")), Options{}), message()); err.Suppress != want {
				t.Errorf("%v suppresses for %q, want %q", err, err.Suppress, want)
			}
		})
	}
}
