package survey

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
)

// Explanation is the story of one link: what it is, what was sent, what support did
// about it, and what would happen next. String tells it to people, without the
// recipient's address and the event's payload.
type Explanation struct {
	Instance *Instance
	// Deliveries is the log of its sends, the oldest first, at most the last 100.
	Deliveries []*Delivery
	// Actions are what support did, the oldest first, at most the last 100.
	Actions []SupportAction
	// NextSendOn is when the next send may be made, ExpiresOn when the instance
	// expires as things are; zero: never.
	NextSendOn, ExpiresOn time.Time
	// Now says what would happen next, and why not more.
	Now string
}

// SupportAction is one thing that a person did to an instance.
type SupportAction struct {
	On     time.Time
	Action string
	By     By
	// From and To are the statuses before and after.
	From, To string
}

// String is a text of several lines.
func (e Explanation) String() string {
	var b strings.Builder
	i := e.Instance
	fmt.Fprintf(&b, "%s\n  survey %d, version %d, %s, %s on %s, through %s\n",
		i.PublicID, i.SurveyID, i.SurveyVersion, i.TriggerID, i.TriggeredBy, stamp(i.TriggeredOn), i.Channel)
	fmt.Fprintf(&b, "  %s", i.state())
	if !i.EndedOn.IsZero() {
		fmt.Fprintf(&b, " on %s", stamp(i.EndedOn))
	}
	if i.ReasonCode != "" {
		fmt.Fprintf(&b, " (%s)", i.ReasonCode)
	}
	if i.Tries > 0 {
		fmt.Fprintf(&b, ", failed tries of the present send: %d", i.Tries)
	}
	b.WriteString("\n")
	for _, d := range e.Deliveries {
		fmt.Fprintf(&b, "  %s\n", d)
	}
	for _, a := range e.Actions {
		fmt.Fprintf(&b, "  %s: %s by %s: %s\n", stamp(a.On), a.Action, a.By.Actor, a.By.Reason)
	}
	fmt.Fprintf(&b, "  now: %s", e.Now)
	return b.String()
}

// String is a line of text.
func (d *Delivery) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", stamp(d.On), sendName(d.Ordinal))
	if d.Attempt > 0 {
		fmt.Fprintf(&b, ", call %d", d.Attempt)
	}
	fmt.Fprintf(&b, ": %s", d.Status)
	if d.ReasonCode != "" && d.ReasonCode != d.Status {
		fmt.Fprintf(&b, " (%s)", d.ReasonCode)
	}
	if d.ProviderMessageID != "" {
		fmt.Fprintf(&b, " as %s", d.ProviderMessageID)
	}
	return b.String()
}

func sendName(ordinal int) string {
	if ordinal == 0 {
		return "initial send"
	}
	return fmt.Sprintf("reminder %d", ordinal)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func supportActions(entries []*audit.Entry) []SupportAction {
	out := make([]SupportAction, len(entries))
	for n, e := range entries {
		out[n] = SupportAction{On: e.On, Action: e.Action, By: By{Actor: e.Actor, Reason: e.Reason}, From: e.From, To: e.To}
	}
	return out
}
