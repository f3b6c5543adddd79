package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/unserved"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// Explanation is the story of one link: what it is, what was sent, what support did
// about it, and what would happen next. String tells it to people, without the
// recipient's address and the event's payload.
type Explanation struct {
	Instance Instance
	// Deliveries is the log of its sends, the oldest first, at most the last 100.
	Deliveries []Delivery
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
	fmt.Fprintf(&b, "  %s", stateOf(i.Status, i.DeletedOn))
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
func (d Delivery) String() string {
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

// maxHistory is how much of a link's log Explain shows.
const maxHistory = 100

// Deliveries reads the log of some links, by their PublicIDs: the last hundred sends of each,
// in the order of time. It is one statement.
func (s Support) Deliveries(ctx context.Context, scope Scope, publicIDs ...string) (out map[string][]Delivery, err error) {
	err = s.read(ctx, func(from driver.Reader) (err error) {
		out, err = deliveriesOf(ctx, from, scope, publicIDs...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("survey: Deliveries: %w", err)
	}
	return out, nil
}

func deliveriesOf(ctx context.Context, from driver.Reader, scope Scope, publicIDs ...string) (map[string][]Delivery, error) {
	log, err := deliveries.Find(ctx, from, scope, driver.Query{
		Where: []driver.Cond{driver.In("public_id", publicIDs)}, OrderBy: "id", Desc: true, Limit: maxHistory * max(len(publicIDs), 1),
	})
	out := make(map[string][]Delivery, len(publicIDs))
	for _, d := range log {
		if of := out[d.PublicID]; len(of) < maxHistory {
			out[d.PublicID] = append(of, d.view())
		}
	}
	for _, of := range out {
		slices.Reverse(of)
	}
	return out, err
}

// Explain tells the story of a link and what would happen next. It asks no gate and
// renders nothing. The error wraps storage.ErrNotFound where scope has no such
// instance.
func (s Support) Explain(ctx context.Context, scope Scope, publicID string) (Explanation, error) {
	var e Explanation
	err := s.read(ctx, func(from driver.Reader) (err error) {
		e, err = s.explain(ctx, from, scope, publicID)
		return err
	})
	if err != nil {
		return Explanation{}, fmt.Errorf("survey: Explain of %.40q: %w", publicID, err)
	}
	return e, nil
}

func (s Support) explain(ctx context.Context, from driver.Reader, scope Scope, publicID string) (e Explanation, err error) {
	i, err := readInstance(ctx, from, scope, publicID)
	if err != nil {
		return e, err
	}
	e.Instance = i.view()
	log, err := deliveriesOf(ctx, from, scope, publicID)
	if err != nil {
		return e, err
	}
	e.Deliveries = log[publicID]
	entries, err := audit.History(ctx, from, scope, instances.Name, i.Key, maxHistory)
	if err != nil {
		return e, err
	}
	e.Actions = supportActions(entries)
	v, err := s.versionOf(ctx, from, scope, i.SurveyID, i.SurveyVersion)
	if err != nil && !unreadable(err) {
		return e, err
	}
	if err != nil {
		v, err = nil, nil
	}
	t := triggerOf(v, i.TriggerID)
	if i.isOpen() && !i.IsOnSupportHold {
		e.ExpiresOn = i.endsOn(s.graceOf(t))
		if !i.NextSendOn.IsZero() && i.sendOn().Before(e.ExpiresOn) {
			e.NextSendOn = i.sendOn()
		}
	}
	served := ""
	if i.isOpen() { // of one that is forgotten the channel is not known
		if served, err = s.servedBy(ctx, from, i.Channel); err != nil {
			return e, err
		}
	}
	found, err := s.out.Find(ctx, from, i.messageAt())
	m, now := found[i.messageAt()], driver.Now(s.store)
	e.Now = s.prospect(e, i, t, served, i.LeaseExpiresOn.After(now) || i.Queued && m.Claimed(now))
	return e, err
}

// prospect says what would happen next.
func (s Support) prospect(e Explanation, i *instanceRow, t *form.Trigger, served string, claimed bool) string {
	now := driver.Now(s.store)
	switch {
	case i.Status == StatusSkipped && i.ReasonCode == reasons.NotSampled:
		return "nothing more: its trigger asks about a share of its events, and this one is not in it"
	case i.Status == StatusSkipped:
		return "nothing more: another link had asked the customer within its trigger's notAskedWithin"
	case !i.isOpen():
		return "nothing more"
	case i.IsOnSupportHold && i.InDoubt:
		return "nothing: it is unknown whether the last call sent it; Release counts it as sent, Retry sends it once more"
	case i.IsOnSupportHold:
		return "nothing, until support releases it"
	case claimed:
		return "a worker has it"
	case i.InDoubt:
		return "it is unknown whether the last call sent it: the provider is asked if it can tell, else the policy decides" + served
	case e.NextSendOn.IsZero():
		return s.ends(e, now)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s ", sendName(i.SendOrdinal))
	if e.NextSendOn.After(now) {
		fmt.Fprintf(&b, "goes out on %s", stamp(e.NextSendOn))
	} else {
		fmt.Fprintf(&b, "is due since %s", stamp(e.NextSendOn))
	}
	if i.NextTryOn.After(i.NextSendOn) && i.ReasonCode != "" {
		fmt.Fprintf(&b, ", put off for %s", i.ReasonCode)
	}
	b.WriteString(served)
	if t == nil {
		b.WriteString("; its version cannot be read, so the send would fail")
	} else {
		fmt.Fprintf(&b, "; reminders after it: %d", i.RemindersRemaining)
	}
	fmt.Fprintf(&b, "; not sent by %s it expires", stamp(e.ExpiresOn))
	return b.String()
}

func (s Support) ends(e Explanation, now time.Time) string {
	why := "every send was made"
	if e.Instance.ReasonCode != "" {
		why = "the sends have stopped (" + e.Instance.ReasonCode + ")"
	}
	if e.ExpiresOn.After(now) {
		return fmt.Sprintf("%s; without a response it expires on %s", why, stamp(e.ExpiresOn))
	}
	return why + "; the next poll expires it"
}

// messagesTable is that of package notify by which channels are served.
const messagesTable = "outgoing_message"

// servedBy says who has the channel, if that is in doubt.
func (s Support) servedBy(ctx context.Context, from driver.Reader, channel string) (string, error) {
	if slices.Contains(s.out.Channels(), channel) {
		return "", nil
	}
	on, err := unserved.ServedOn(ctx, from, messagesTable, channel)
	switch {
	case err != nil:
		return "", err
	case on.IsZero():
		return "; no process with its channel has been seen yet", nil
	}
	return "; this process has not its channel, one that has was last seen on " + stamp(on), nil
}
