package notifytest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/notify"
)

// TB is what the assertions need of a [testing.TB].
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Sent fails the test unless exactly n messages were accepted, and none of them
// was tried once more.
func (r *Recorder) Sent(t TB, n int) {
	t.Helper()
	r.noRepeats(t)
	if all := r.Messages(); len(all) != n {
		t.Errorf("%s sent %d messages, want %d%s", r.Key(), len(all), n, list(all))
	}
}

// To returns the message to that address, and ends the test unless there is
// exactly one.
func (r *Recorder) To(t TB, address string) notify.Message {
	t.Helper()
	r.noRepeats(t)
	var found []notify.Message
	all := r.Messages()
	for _, m := range all {
		if m.To == address {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s sent %d messages to %s, want 1%s", r.Key(), len(found), address, list(all))
		return notify.Message{} // a TB of the caller's own may go on
	}
	return found[0]
}

// Attachment returns the attachment of m with that file name, and ends the test
// unless there is exactly one.
func Attachment(t TB, m notify.Message, name string) notify.Attachment {
	t.Helper()
	var found []notify.Attachment
	for _, a := range m.Attachments {
		if a.Name == name {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		t.Fatalf("message %s has %d attachments %q, want 1; it has%s", m.ID, len(found), name, cmp.Or(attached(m), " none"))
		return notify.Attachment{} // a TB of the caller's own may go on
	}
	return found[0]
}

func (r *Recorder) noRepeats(t TB) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.repeated {
		t.Errorf("%s was given message %s again after it had sent it", r.key, id)
	}
}

// list names the messages, a line each.
func list(all []notify.Message) string {
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "\n\t%s: %q (message %s, attempt %d)%s", m.To, m.Subject, m.ID, m.Attempt, attached(m))
	}
	return b.String()
}

// attached names the attachments, if there are any.
func attached(m notify.Message) string {
	var b strings.Builder
	for _, a := range m.Attachments {
		fmt.Fprintf(&b, " +%q (%s, %d bytes", a.Name, a.MediaType, len(a.Data))
		if a.ContentID != "" {
			b.WriteString(", inline as " + a.ContentID)
		}
		b.WriteString(")")
	}
	return b.String()
}
