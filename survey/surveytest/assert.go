package surveytest

import (
	"context"
	"slices"
	"strings"
)

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
	story, err := l.h.Surveys.Explain(context.Background(), l.h.scope, l.PublicID)
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
	event, err := l.h.Surveys.Event(context.Background(), l.h.scope, l.PublicID)
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
