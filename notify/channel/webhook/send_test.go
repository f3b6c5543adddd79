package webhook

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

func TestMessageArrivesSigned(t *testing.T) {
	t.Parallel()
	s := receive(t, nil)
	m := s.message()
	m.HTML, m.Locale, m.Template = "<p>", "en", channel.ProviderTemplate{Name: "expiry", Params: []string{"Sam"}}
	m.Metadata, m.UnsubscribeURL = map[string]string{"class": "3b"}, "https://school.example/u"
	if receipt, err := open(t, s, Options{}).Send(t.Context(), m); err != nil || receipt.ID != "" {
		t.Fatal(receipt, err)
	}
	want := map[string]string{id: `{"type":"message","data":{"id":"` + id + `","name":"Sam","subject":"Your certificate","text":"It expires \u003csoon\u003e.",` +
		`"html":"\u003cp\u003e","locale":"en","template":{"name":"expiry","params":["Sam"]},"metadata":{"class":"3b"},"unsubscribeUrl":"https://school.example/u"}}`}
	requests, _, got := s.seen()
	if diff := cmp.Diff(want, got); diff != "" || requests != 1 {
		t.Error(requests, diff)
	}
}

func TestRepeatHasTheSameIDAndBody(t *testing.T) {
	t.Parallel()
	s := receive(t, nil)
	c := open(t, s, Options{Type: "school.message"})
	first, second := s.message(), s.message()
	second.Attempt, second.On = 2, now.Add(time.Minute)
	var bodies []map[string]string
	for _, m := range []channel.Message{first, second} {
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		_, _, seen := s.seen()
		bodies = append(bodies, map[string]string{id: seen[id]})
	}
	if _, repeats, _ := s.seen(); repeats != 1 || !cmp.Equal(bodies[0], bodies[1]) || !strings.Contains(bodies[0][id], `"type":"school.message"`) {
		t.Error(repeats, bodies)
	}
}

func TestReceiversHaveSecretsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := receive(t, nil)
	const other = "C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	answer := map[string][]string{"": {secret}, "rotating": {other, secret}, "other": {other}, "none": {}, "bad": {"canary"}}
	c := open(t, s, Options{SecretsOf: func(_ context.Context, url string) ([]string, error) {
		_, which, _ := strings.Cut(url, "&of=")
		if which == "failed" {
			return nil, errors.New("canary")
		}
		return answer[which], nil
	}})
	for which, want := range map[string]string{"": "", "&of=rotating": "", "&of=other": "401", "&of=none": "secrets", "&of=bad": "secrets", "&of=failed": "secrets"} {
		m := s.message()
		m.To += which
		_, err := c.Send(t.Context(), m)
		if got := channel.Classify(err); (got == nil) != (want == "") || got != nil && (got.Code != want || strings.Contains(got.Error(), "canary")) {
			t.Errorf("%q: %v", which, err)
		}
	}
}

func TestMessageThatCannotBeSentIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	s := receive(t, nil)
	c := open(t, s, Options{Trusted: []string{"elsewhere"}})
	address := func(to string) func(*channel.Message) { return func(m *channel.Message) { m.To = to } }
	for name, change := range map[string]func(*channel.Message){
		"id":          func(m *channel.Message) { m.ID = "a.b" },
		"date":        func(m *channel.Message) { m.On = time.Time{} },
		"attachments": func(m *channel.Message) { m.Attachments = []channel.Attachment{{Name: "canary"}} },
		"address":     address(""),
		"address 1":   address("http://hooks.example/canary"),
		"address 2":   address("ftp://hooks.example/canary"),
		"address 3":   address("//hooks.example/canary"),
		"address 4":   address("https:///canary"),
		"address 5":   address("https://canary@hooks.example/"),
		"address 6":   address("https://user:canary@hooks.example/"),
		"address 7":   address("https://hooks.example/canary#part"),
		"address 8":   address("https://hooks.example/canary\r\nX-Other: 1"),
		"address 9":   address("https://hooks.example\\@canary.example/"),
		"address a":   address("https:canary"),
		"address b":   address("https://hooks.example/" + strings.Repeat("canary", 400)),
		"address c":   address("file:///canary"),
		"address d":   address("http://elsewhere.canary.example/"),
	} {
		m := s.message()
		change(&m)
		code, _, _ := strings.Cut(name, " ")
		if err := refuse(t, c, m); err.Class != channel.ClassPermanent || err.Code != code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if requests, _, _ := s.seen(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

func TestTrustedHostMayBeCalledOverHTTP(t *testing.T) {
	t.Parallel()
	s := receive(t, nil)
	plain := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(plain.Close)
	m := s.message()
	m.To = plain.URL
	if _, err := open(t, s, Options{}).Send(t.Context(), m); err != nil {
		t.Error(err)
	}
}
