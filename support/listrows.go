package support

import (
	"fmt"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify"
)

// paused is the entry of a pause.
func paused(p Part, since, until time.Time, by By) Entry {
	what := "all of " + p.Domain
	switch {
	case p.Channel != "":
		what = "channel " + p.Channel
	case p.Type != "":
		what = p.Type
	}
	e := Entry{
		On: since, Kind: KindPause, Outcome: Withheld, Type: p.Type, Channel: p.Channel, Status: "Paused", NextOn: until,
		Can: []Action{Resume}, Part: p, Steps: []Step{{On: since, What: "Pause", Actor: by.Actor, Detail: by.Reason}},
		ToDo: "Resume it when its cause is over.",
	}
	e.What = what + " is paused"
	if p.Everywhere {
		e.What += ", for all tenants"
	}
	if until.IsZero() {
		e.What += ", until a person resumes it"
	} else {
		e.What += ", until " + moment(until)
	}
	return e
}

// reportEntry is the entry of a report subscription.
func reportEntry(s *report.Subscription) Entry {
	e := Entry{
		On: s.CreatedOn, Kind: KindReport, Outcome: Planned, Type: s.Type, Status: s.Status, Key: s.GUID, Subject: s.Name,
		What: s.Type + ": it is sent at its times",
	}
	switch s.Status {
	case report.StatusActive:
		e.Can = []Action{RunNow, Pause}
	case report.StatusPaused:
		e.Outcome, e.Can, e.What = Withheld, []Action{RunNow, Resume}, s.Type+": paused, until a person resumes it"
	default:
		e.Outcome, e.What = Withheld, s.Type+": it has ended"
	}
	return e
}

// replanEntry is a re-plan.
func replanEntry(r *automation.ReplanState) Entry {
	e := Entry{
		On: r.MarkedOn, Kind: KindReplan, Outcome: UnderWay, Type: r.Type, Status: "Marked", NextOn: r.NextOn, Reason: r.ReasonCode,
		Detail: r.Diagnostics, Part: Part{Domain: "automation", Type: r.Type, Setting: r.Setting}, Can: []Action{Replan},
		What: "re-plan of " + r.String() + ": under way",
	}
	if r.Done {
		e.Outcome, e.Status, e.What = Reached, "Done", "re-plan of "+r.String()+": done"
	}
	if p := r.Progress; p != nil {
		e.What += fmt.Sprintf("; of %d sources %d were unchanged, %d failed", p.Scanned, p.Unchanged, p.Failed)
	}
	if r.Failures > 0 {
		e.Outcome, e.ToDo = Failed, "Belfry tries it again by itself. The log of the program says why it fails."
	}
	return e
}

// conflictEntry is the entry of two requests with one name.
func conflictEntry(c *notify.Conflict) Entry {
	return Entry{
		On: c.On, Kind: KindConflict, Outcome: NeedsYou, Type: string(c.Artifact), Status: "Conflict", Key: c.PartitionKey + " / " + c.RowKey,
		What: fmt.Sprintf("%s: a second request has the same name but differs in %s", c.Artifact, c.Field), Detail: fmt.Sprintf("%s is %q, wanted %q", c.Field, c.Stored, c.Wanted),
		ToDo: "The first request stays. Ask an engineer: the program must give the second one a different name.",
	}
}

// erasureEntry is the entry of an erasure, done or under way.
func erasureEntry(r *sweep.Request) Entry {
	e := Entry{On: r.BegunOn, Kind: KindErasure, Outcome: UnderWay, Type: "erasure", Status: r.Status, Key: r.ID, NextOn: r.NextOn, What: "erasure: under way"}
	if r.Status == sweep.StatusDone {
		e.Outcome, e.What = Reached, "erasure: done on "+moment(r.EndedOn)
	}
	return e
}

// auditEntry is an entry of the audit.
func auditEntry(a *audit.Entry) Entry {
	e := Entry{On: a.On, Kind: KindAudit, Outcome: Reached, Type: a.Subject, Status: a.To, Key: a.SubjectKey, What: actionText(a)}
	e.Steps = []Step{{On: a.On, What: a.Action, Actor: a.Actor, Detail: a.Reason, person: !a.ByProgram}}
	return e
}

// actionText describes an action in words.
func actionText(a *audit.Entry) string {
	word := map[string]string{
		"Cancel": "cancelled", "Release": "released", "Retry": "sent again", "Rerun": "done once more", "Hold": "put on hold", "Resolve": "settled", "SendTo": "sent to another address",
		"Stop": "stopped", "Allow": "allowed again", "Suppress": "blocked", "Unsuppress": "unblocked", "Pause": "paused", "Resume": "resumed", "Replan": "planned again", "Assign": "assigned", "Handle": "handled",
	}[a.Action]
	if word == "" {
		text := fmt.Sprintf("%s, of %s", a.Action, rowsOf(a.Subject))
		if a.From != a.To && a.From != "" {
			text += ": " + a.From + " to " + a.To
		}
		return text
	}
	return rowOf(a.Subject) + " " + word
}

// rowOf names one row of a table for people.
func rowOf(table string) string {
	if name := map[string]string{
		"automation_scheduler": "reminder", "outgoing_message": "message", "notification_job": "job", "notification_scheduler": "job's schedule", "messaging_job": "campaign",
		"survey_instance": "survey link", "survey_response": "unhappy response", "recipient_preference": "messages to a person", "user_message": "message in the inbox", "suppression": "address", "notification_pause": "messages", "automation_pause": "reminders",
	}[table]; name != "" {
		return name
	}
	return rowsOf(table)
}
