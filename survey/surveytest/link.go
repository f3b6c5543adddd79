package surveytest

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/survey"
)

// Link is a link in a customer's hand.
type Link struct {
	URL, Token, PublicID string
	// Message is the last one that it came in.
	Message channel.Message

	h *Host
}

// Link returns the link that was sent last to that address, as the channel was given
// it, and ends the test if there is none.
func (h *Host) Link(t TB, address string) *Link {
	t.Helper()
	sent := h.Channel.Messages()
	for i := len(sent) - 1; i >= 0; i-- {
		m := sent[i]
		if m.To == address && m.Metadata["surveyUrl"] != "" {
			url := m.Metadata["surveyUrl"]
			return &Link{URL: url, Token: h.token(url), PublicID: m.Metadata["publicId"], Message: m, h: h}
		}
	}
	t.Fatalf("%s sent no link to %s%s", h.Channel.Key(), address, list(sent))
	return &Link{h: h} // a TB of the caller's own may go on
}

// token is what stands in a link for {token}.
func (h *Host) token(url string) string {
	pattern := strings.NewReplacer(`\{token\}`, `([a-z0-9]+)`, `\{publicId\}`, `[a-z0-9-]+`).Replace(regexp.QuoteMeta(h.url))
	found := regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(url)
	if found == nil {
		return ""
	}
	return found[1]
}

// Open is what the form's page does once it is shown. It ends the test if the link
// leads to no survey.
func (l *Link) Open(t TB) {
	t.Helper()
	if err := l.h.Surveys.Opened(context.Background(), l.Token); err != nil {
		t.Fatalf("surveytest: open the link to %s: %v", l.Message.To, err)
	}
}

// Submit answers with a JSON object by question id, and ends the test if the answers
// are refused; a test of that calls the service itself, with the Token.
func (l *Link) Submit(t TB, answers string) survey.Receipt {
	t.Helper()
	receipt, err := l.h.Surveys.Submit(context.Background(), l.Token, survey.Response{Answers: json.RawMessage(answers)})
	if err != nil {
		t.Fatalf("surveytest: submit to the link of %s: %v", l.Message.To, err)
	}
	return receipt
}

// list names the messages, a line each.
func list(sent []channel.Message) string {
	var b strings.Builder
	for _, m := range sent {
		fmt.Fprintf(&b, "\n\t%s: %q (%s)", m.To, m.Subject, m.ID)
	}
	return b.String()
}

// Sent fails the test unless exactly n links and reminders were sent so far, each
// once.
func (h *Host) Sent(t TB, n int) {
	t.Helper()
	h.Channel.Sent(t, n)
}

// Is fails the test unless the link has that status, such as survey.StatusExpired. It
// says what has happened to the link.
func (l *Link) Is(t TB, status string) {
	t.Helper()
	story, err := l.h.Surveys.Support().Explain(context.Background(), l.h.scope, l.PublicID)
	if err != nil {
		t.Fatalf("surveytest: %v", err)
		return
	}
	if got := story.Instance.Status; got != status {
		t.Errorf("the link to %s is %s, want %s\n%s", l.Message.To, got, status, story)
	}
}

// Dispatched fails the test unless the response reached exactly these subscribers: it
// was routed to them and to no other, and each has taken it.
func (l *Link) Dispatched(t TB, subscribers ...string) {
	t.Helper()
	event, err := l.h.Surveys.Support().Event(context.Background(), l.h.scope, l.PublicID)
	if err != nil {
		t.Fatalf("surveytest: the response of %s: %v", l.Message.To, err)
		return
	}
	var got, want []string
	for _, d := range event.Deliveries {
		got = append(got, strings.TrimSpace(d.Subscriber+": "+d.Status+" "+d.LastError))
	}
	for _, s := range subscribers {
		want = append(want, s+": Dispatched")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the response of %s (%s) is at\n\t%s\nwant\n\t%s", l.Message.To, event.Status, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
