package support

import (
	"cmp"
	"fmt"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/survey"
)

// reminder makes the entry of a row of due work from the row alone.
func (c *core) reminder(s *automation.Schedule) Entry {
	e := Entry{
		schedule: s,
		On:       s.ScheduledOn, Kind: KindReminder, Type: s.Type, Occasion: occasion(s), Status: s.Status,
		Key: s.Key, Person: s.Person, Entity: automation.Source{Type: s.SourceType, ID: s.Source}, Reason: s.ReasonCode, Detail: s.Diagnostics,
	}
	if !s.ForgottenOn.IsZero() {
		e.Occasion = "" // it is not known any more
	}
	now := c.now()
	switch {
	case s.IsOnSupportHold && s.Status == automation.StatusCancelled: // a person stopped it, so it needs no attention
		e.Outcome, e.Can = Withheld, []Action{Release}
	case s.IsOnSupportHold:
		e.Outcome, e.Reason, e.Can = NeedsYou, s.HoldReason, []Action{Release, Retry, Cancel}
		e.Detail = cmp.Or(s.HoldDetail, s.Diagnostics)
	case s.Status == automation.StatusCompleted:
		e.Outcome, e.Reason = UnderWay, "" // its messages say more
	case s.Status == automation.StatusPending && s.DueOn.After(now):
		e.Outcome, e.NextOn, e.Can = Planned, s.DueOn, []Action{Cancel}
		if s.NextRetryOn.IsZero() {
			e.Reason = "" // that of a state before
		} else {
			e.Outcome, e.Can = UnderWay, []Action{Retry, Cancel}
		}
	case s.Status == automation.StatusPending || s.Status == automation.StatusProcessing:
		e.Outcome, e.Can = UnderWay, []Action{Cancel}
		if s.NextRetryOn.IsZero() {
			e.Reason = ""
		}
	default:
		e.Outcome, e.Said = Withheld, s.EndedBecause
		if s.ForgottenOn.IsZero() {
			e.Can = []Action{Retry}
		}
		if s.EndedOn.Before(s.ScheduledOn) {
			e.withdrawn = s.EndedOn
		}
	}
	e.ReasonBy = giverOfWork(e.Reason)
	e.settle()
	return e
}

// messageEntry makes the entry of an outgoing message from the row alone.
func messageEntry(m *notify.OutgoingMessage) Entry {
	e := Entry{
		On: m.CreatedOn, Kind: KindMessage, Type: m.NotificationType, Channel: cmp.Or(m.Via, m.Channel), Status: m.Status,
		Reason: m.ReasonCode, Key: m.Key, MessageID: m.MessageID, ProviderID: m.ProviderMessageID,
		job: m.PartitionKey, jobOf: m.JobPartitionKey, Person: m.RecipientRef, Address: m.Address, Name: m.RecipientName, Subject: m.Content.Subject, Version: m.Content.Version,
	}
	e.stage, e.Outcome = m.Stage(), outcomeOf(m)
	e.bounced = e.Outcome == Failed && m.Status == notify.StatusSentToProvider
	switch e.Outcome {
	case NeedsYou:
		e.Can = []Action{Release, Cancel}
		if m.Status == notify.StatusOutcomeUnknown {
			e.Can, e.Reason = []Action{Resolve}, cmp.Or(m.HoldReason, e.Reason, reasons.InDoubt)
		}
	case UnderWay:
		e.NextOn = m.DueOn
		if m.Status == notify.StatusCreated || m.Status == notify.StatusRetryReady {
			e.Can = []Action{Cancel}
		}
		if m.Status == notify.StatusOutcomeUnknown {
			e.Can, e.Reason = []Action{Resolve}, cmp.Or(e.Reason, reasons.InDoubt)
		}
	case Failed:
		if m.Status == notify.StatusFailedFinal && m.ForgottenOn.IsZero() {
			e.Can = []Action{Retry}
		}
	}
	if m.ForgottenOn.IsZero() && slices.Contains([]notify.Stage{notify.StageSent, notify.StageArrived, notify.StageFailed, notify.StageBlocked, notify.StageExpired}, e.stage) {
		e.Can = append(e.Can, SendTo)
	}
	e.ReasonBy = codeBy(e.Reason, m.Calls > 0, e.Outcome)
	e.settle()
	if e.bounced {
		e.What = e.Title() + ": it came back"
	}
	if e.Outcome == Sent && m.Resolution == notify.ResolvedByAssumption {
		e.What = e.Title() + ": counted as sent; it is unknown whether the provider has it"
	}
	e.Steps = messageSteps(m)
	return e
}

// codeByOf is who gave a message's reason code.
func codeByOf(m *notify.OutgoingMessage) string {
	return codeBy(m.ReasonCode, m.Calls > 0, outcomeOf(m))
}

// outcomes maps the stages of messages to outcomes.
var outcomes = map[notify.Stage]Outcome{
	notify.StageWaiting: UnderWay, notify.StageSending: UnderWay, notify.StageUnknown: UnderWay, notify.StageSent: Sent, notify.StageArrived: Reached,
	notify.StageFailed: Failed, notify.StageBlocked: Withheld, notify.StageExpired: Withheld, notify.StageSkipped: Withheld,
}

// outcomeOf is the outcome of a message.
func outcomeOf(m *notify.OutgoingMessage) Outcome {
	if m.IsOnSupportHold {
		return NeedsYou
	}
	return outcomes[m.Stage()]
}

// messageSteps lists the steps that the message row itself records.
func messageSteps(m *notify.OutgoingMessage) []Step {
	var out []Step
	add := func(on time.Time, reason, format string, args ...any) {
		if !on.IsZero() {
			out = append(out, Step{On: on, What: fmt.Sprintf(format, args...), Reason: reason})
		}
	}
	by := cmp.Or(m.Via, m.Channel)
	add(m.CreatedOn, "", "made for %s", m.Channel)
	if m.SentOn.IsZero() && m.FailedOn.IsZero() {
		add(m.CallStartedOn, "", "attempt %d by %s began", m.Calls, by)
	}
	add(m.SentOn, "", "attempt %d: %s took it", m.Calls, by)
	add(m.ResolvedOn, "", "%s", resolved[m.Resolution])
	add(m.FailedOn, m.ReasonCode, "attempt %d failed for good: %s", m.Calls, bare(codeByOf(m), m.ReasonCode))
	if m.FailedOn.IsZero() && m.ReasonCode != "" {
		add(m.EndedOn, m.ReasonCode, "%s: %s", strings.ToLower(m.Status), bare(codeByOf(m), m.ReasonCode))
	}
	return out
}

// resolved says how an unknown outcome was decided.
var resolved = map[notify.Resolution]string{
	notify.ResolvedByLookup: "the provider was asked whether it has it", notify.ResolvedByIdempotency: "the call was repeated; the provider filters repeats",
	notify.ResolvedByHold: "its outcome is unknown, and a person has to decide", notify.ResolvedByAssumption: "its outcome is unknown, and it was counted as sent",
	notify.ResolvedByResend: "its outcome was unknown, and it was sent again", notify.ResolvedBySupport: "a person decided its outcome",
	notify.ResolvedByCall: "the call's own answer came late", notify.ResolvedByCallback: "the provider's callback decided it",
}

// stateOf summarises a message for its reminder.
func stateOf(m *notify.OutgoingMessage) MessageState {
	return MessageState{
		MessageID: m.MessageID, Channel: cmp.Or(m.Via, m.Channel), Outcome: outcomeOf(m), Status: m.Status, Reason: m.ReasonCode,
		On: latest(m.CreatedOn, m.CallStartedOn, m.SentOn, m.FailedOn, m.EndedOn), Person: m.RecipientRef, by: codeByOf(m), stage: m.Stage(),
	}
}

func latest(moments ...time.Time) time.Time {
	return slices.MaxFunc(moments, time.Time.Compare)
}

// inboxEntry makes the entry of a message in an inbox.
func inboxEntry(m *notify.UserMessage) Entry {
	e := Entry{
		On: m.SourceOn, Kind: KindInbox, Type: m.Type, Channel: "inbox", Status: m.Status, Outcome: Reached,
		job: m.JobRowKey, Key: m.Key, Person: m.RecipientRef, Subject: m.Content.Subject, Version: m.Content.Version,
	}
	e.What = e.Title() + ": in the inbox"
	for _, s := range []struct {
		on   time.Time
		what string
	}{{m.CreatedOn, "put into the inbox"}, {m.SeenOn, "shown in the list of its reader"}, {m.ReadOn, "read"}, {m.ArchivedOn, "put away"}} {
		if !s.on.IsZero() {
			e.Steps = append(e.Steps, Step{On: s.on, What: s.what})
		}
	}
	return e
}

// linkEntry makes the entry of a survey's link from the row alone.
func linkEntry(i *survey.Instance) Entry {
	e := Entry{
		link: i, On: i.CreatedOn, Kind: KindLink, Type: fmt.Sprintf("survey %d", i.SurveyID), Occasion: i.TriggeredBy, Channel: i.Channel, Status: i.Status,
		Reason: i.ReasonCode, Key: i.PublicID, Person: i.CustomerRef, Address: i.RecipientAddress,
	}
	active := i.Status == survey.StatusPending || i.Status == survey.StatusSent || i.Status == survey.StatusOpened
	switch {
	case !i.DeletedOn.IsZero():
		e.Outcome, e.Status = Withheld, "Deleted"
	case i.IsOnSupportHold && active && i.InDoubt:
		e.Outcome, e.Can = NeedsYou, []Action{Resolve, Cancel}
	case i.IsOnSupportHold && active:
		e.Outcome, e.Can = NeedsYou, []Action{Release, Retry, Cancel}
	case i.Status == survey.StatusSkipped:
		e.Outcome = Withheld
	case i.Status == survey.StatusCompleted || i.Status == survey.StatusOpened:
		e.Outcome, e.Reason = Reached, ""
	case i.Status == survey.StatusExpired && i.LastSentOn.IsZero() && i.Calls > 0:
		e.Outcome = Failed
	case i.Status == survey.StatusExpired && i.LastSentOn.IsZero():
		e.Outcome = Withheld
	case i.Status == survey.StatusExpired || i.Status == survey.StatusSent:
		e.Outcome, e.Reason = Sent, "" // it is the code of a later reminder
	case !i.NextSendOn.IsZero():
		e.Outcome = UnderWay
	default:
		e.Outcome, e.Can = Failed, []Action{Retry} // its sends stopped before the first one
	}
	if active && !i.IsOnSupportHold && !i.NextSendOn.IsZero() {
		e.NextOn, e.Can = latest(i.NextSendOn, i.NextTryOn), []Action{Cancel}
	}
	e.ReasonBy = codeBy(e.Reason, i.Calls > 0, e.Outcome)
	e.settle()
	switch {
	case !i.DeletedOn.IsZero():
		e.What = e.Title() + ": deleted"
	case i.Status == survey.StatusCompleted:
		e.What = e.Title() + ": answered"
	case i.Status == survey.StatusOpened:
		e.What = e.Title() + ": opened, not answered yet"
	case i.Status == survey.StatusExpired && e.Outcome == Sent:
		e.What = e.Title() + ": sent, and expired without an answer"
	}
	return e
}

// jobEntry makes the entry of a job.
func jobEntry(j *notify.Job) Entry {
	e := Entry{
		On: j.CreatedOn, Kind: KindJob, Type: j.Type, Status: j.Status, Reason: j.ReasonCode, Detail: j.Diagnostics, Key: j.Key,
		Entity: automation.Source{Type: j.EntityType, ID: j.Entity}, NextOn: j.DueOn,
	}
	e.tried(j.SupportHold, j.Status, notify.StatusGenerated)
	return e
}

func scheduleEntry(s *notify.Schedule) Entry {
	e := Entry{On: s.CreatedOn, Kind: KindSchedule, Type: s.EventType, Status: s.Status, Reason: s.ReasonCode, Key: s.Key, NextOn: s.DueOn}
	e.tried(s.SupportHold, s.Status, notify.StatusDispatched)
	return e
}

func campaignEntry(j *notify.MessagingJob) Entry {
	e := Entry{On: j.CreatedOn, Kind: KindCampaign, Type: j.Type, Status: j.Status, Reason: j.ReasonCode, Key: j.Key, NextOn: j.DueOn}
	e.tried(j.SupportHold, j.Status, notify.StatusGenerated)
	if e.Outcome == UnderWay {
		e.Can = []Action{Pause, Cancel}
	}
	return e
}

// progressEntry makes the entry of a single campaign, with its progress.
func progressEntry(p *notify.CampaignProgress) Entry {
	j := notify.MessagingJob{Type: p.Type, Key: p.GUID, Status: p.Status, CreatedOn: p.StartedOn, SupportHold: p.SupportHold}
	j.ReasonCode = p.Reason
	e := campaignEntry(&j)
	e.Campaign = p
	return e
}

// tried is the outcome of a row that makes messages.
func (e *Entry) tried(h driver.SupportHold, status, done string) {
	switch {
	case h.IsOnSupportHold:
		e.Outcome, e.Can, e.Reason = NeedsYou, []Action{Release, Cancel}, cmp.Or(e.Reason, h.HoldReason)
	case status == done || status == notify.StatusDigested:
		e.Outcome = Sent
	case status == notify.StatusSkipped || status == notify.StatusCancelled || status == notify.StatusStopped:
		e.Outcome = Withheld
	case status == notify.StatusFailed:
		e.Outcome = Failed
	default:
		e.Outcome = UnderWay
	}
	e.settle()
	if status == done {
		e.What = e.Title() + ": its messages are made"
	}
}
