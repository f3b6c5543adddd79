package notify

import (
	"fmt"
	"strings"
	"time"
)

// String tells people what became of the job or the campaign. It names recipients by their
// Ref, and has no address and no content.
func (t Trace) String() string {
	var b strings.Builder
	switch {
	case t.Job != nil:
		fmt.Fprintf(&b, "%s of %s %s: %s", t.Job.Type, t.Job.EntityType, t.Job.Entity, told(t.Job.Status, t.Job.ReasonCode))
	case t.Campaign != nil:
		fmt.Fprintf(&b, "campaign %s of %s: %s", t.Campaign.GUID, t.Campaign.Type, told(t.Campaign.Status, t.Campaign.ReasonCode))
	default:
		b.WriteString("there is no such job")
	}
	for _, s := range t.Schedules {
		fmt.Fprintf(&b, "\n  schedule for %s: %s", stamp(s.ScheduledOn), told(s.Status, s.ReasonCode))
	}
	for _, m := range t.UserMessages {
		fmt.Fprintf(&b, "\n  inbox of %s: %s", m.RecipientRef, m.Status)
	}
	for _, m := range t.OutgoingMessages {
		fmt.Fprintf(&b, "\n  %s to %s: %s%s", m.Channel, m.RecipientRef, told(m.Status, m.ReasonCode), t.beside(m))
	}
	for _, d := range t.Digests {
		fmt.Fprintf(&b, "\n  for %s: %s", d.RecipientRef, d)
	}
	return b.String()
}

// beside tells of a message that goes out only if another one is unread.
func (t Trace) beside(m OutgoingMessage) string {
	if m.UnlessRead == "" {
		return ""
	}
	var user UserMessage
	for _, u := range t.UserMessages {
		if u.Key == m.UnlessRead {
			user = u
		}
	}
	switch {
	case !m.SentOn.IsZero():
		return fmt.Sprintf(", unread in the inbox for %s; sent on %s", m.SentOn.Sub(later(user.CreatedOn, user.SnoozedUntil)).Round(time.Second), stamp(m.SentOn))
	case m.Status != StatusSkipped && !m.DueOn.IsZero():
		return fmt.Sprintf(", on %s unless it is read in the inbox before", stamp(m.DueOn))
	case m.ReasonCode != ReasonRead:
		return ""
	case !user.ReadOn.IsZero():
		return fmt.Sprintf(", read in the inbox on %s; not sent", stamp(user.ReadOn))
	case !user.ArchivedOn.IsZero():
		return fmt.Sprintf(", archived in the inbox on %s; not sent", stamp(user.ArchivedOn))
	}
	return ", gone from the inbox; not sent"
}

func told(status, reason string) string {
	if reason == "" {
		return status
	}
	return status + " (" + reason + ")"
}

func stamp(on time.Time) string { return on.UTC().Format(time.RFC3339) }
