package webhook

import (
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/sendtest"
)

// sendOutcome is what a Send error comes to.
type sendOutcome struct {
	Class      channel.Class
	Code       string
	RetryAfter time.Duration
}

type script = func(http.ResponseWriter, *http.Request) bool

// says is the script that answers with a status.
func says(status int, retryAfter ...string) script {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if retryAfter != nil {
			w.Header().Set("Retry-After", retryAfter[0])
		}
		w.Header().Set("Location", "https://127.0.0.1/canary")
		w.WriteHeader(status)
		_, _ = w.Write([]byte("canary"))
		return true
	}
}

func TestAnswersHaveTheirClass(t *testing.T) {
	t.Parallel()
	const permanent, transient, unknown = channel.ClassPermanent, channel.ClassTransient, channel.ClassUnknown
	for name, c := range map[string]struct {
		script script
		want   sendOutcome
	}{
		"bad request":     {says(400), sendOutcome{permanent, "400", 0}},
		"not authorised":  {says(401), sendOutcome{permanent, "401", 0}},
		"forbidden":       {says(403), sendOutcome{permanent, "403", 0}},
		"not found":       {says(404), sendOutcome{permanent, "404", 0}},
		"too late":        {says(408, "2"), sendOutcome{transient, "408", 2 * time.Second}},
		"gone":            {says(410), sendOutcome{permanent, "410", 0}},
		"too early":       {says(425), sendOutcome{transient, "425", 0}},
		"too many":        {says(429, "120"), sendOutcome{transient, "429", 2 * time.Minute}},
		"moved":           {says(301), sendOutcome{transient, "301", 0}},
		"moved with POST": {says(307), sendOutcome{transient, "307", 0}},
		"failed":          {says(500), sendOutcome{unknown, "500", 0}},
		"gateway failed":  {says(502), sendOutcome{unknown, "502", 0}},
		"not available":   {says(503, "9"), sendOutcome{transient, "503", 9 * time.Second}},
		"gateway late":    {says(504), sendOutcome{unknown, "504", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := receive(t, c.script)
			err := refuse(t, open(t, s, Options{}), s.message())
			if diff := cmp.Diff(c.want, sendOutcome{err.Class, err.Code, err.RetryAfter}); diff != "" {
				t.Error(err, diff)
			}
			if requests, _, _ := s.seen(); requests != 1 {
				t.Errorf("%d requests for one Send", requests)
			}
		})
	}
}

func TestEvery2xxAcceptsWhateverItsBody(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]script{
		"200": says(200), "202": says(202), "204": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(204); return true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := receive(t, script)
			if _, err := open(t, s, Options{}).Send(t.Context(), s.message()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReceiverThatNeverAnswersIsInDoubt(t *testing.T) {
	t.Parallel()
	answer, read := sendtest.Silent()
	s := receive(t, func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true })
	sendtest.Ends(t, open(t, s, Options{}), s.message(), read)
	well := receive(t, nil)
	if err := refuse(t, open(t, well, Options{Timeout: time.Nanosecond}), well.message()); err.Class != channel.ClassTransient {
		t.Error(err) // its causes name no address, and so no time-out
	}
}

func TestNothingWasSentToAReceiverThatCannotBeReached(t *testing.T) {
	t.Parallel()
	s := receive(t, nil)
	m := s.message()
	if err := refuse(t, open(t, s, Options{TLSConfig: &tls.Config{}}), m); err.Class != channel.ClassTransient || err.Code != "certificate" {
		t.Error(err)
	}
	m.To = "https://canary.invalid/"
	if err := refuse(t, open(t, s, Options{}), m); err.Class != channel.ClassTransient || err.Code != "dns" {
		t.Error(err)
	}
}

// Each receiver is a server of its own: none speaks for the channel.
func TestAReceiverIsAnAddress(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 404, 429, 503} {
		s := receive(t, says(status))
		if err := refuse(t, open(t, s, Options{}), s.message()); err.Fault != channel.FaultAddress {
			t.Errorf("%v blames %q", err, err.Fault)
		}
	}
	s := receive(t, nil)
	if err := refuse(t, open(t, s, Options{TLSConfig: &tls.Config{}}), s.message()); err.Fault != channel.FaultAddress {
		t.Errorf("%v blames %q", err, err.Fault)
	}
}

func TestAReceiverThatIsGoneIsSuppressed(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]channel.SuppressionReason{410: channel.HardBounce, 404: "", 401: "", 429: "", 500: ""} {
		s := receive(t, says(status))
		if err := refuse(t, open(t, s, Options{}), s.message()); err.Suppress != want {
			t.Errorf("%d: %v suppresses for %q, want %q", status, err, err.Suppress, want)
		}
	}
}
