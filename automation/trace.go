package automation

import (
	"time"
)

// Trace is what the due pass saw and decided in one try of a row. It holds
// identities, counts and hashes, and no address; the error's text is the one in
// the row's Diagnostics.
type Trace struct {
	Scope          Scope
	Key            string
	AutomationType string
	Type           string
	TriggerType    TriggerType
	BusinessUnit   string `json:",omitempty"`
	Source         Source
	TriggerKey     string
	TargetDate     string `json:",omitempty"`
	DaysBefore     int    `json:",omitempty"`
	InputHash      string
	ScheduledOn    time.Time
	// Attempt is 1 for the first try.
	Attempt int

	// Setting is the id of the setting, and SettingActive what it said.
	Setting       string
	SettingActive bool
	// Validity is what the Validator answered: StillValid, AsksFor, or the reason
	// for which the row is no longer valid. Empty: nobody was asked.
	Validity string `json:",omitempty"`
	// Resolved is how many recipients there were, Recipients how many the policy
	// left, and RecipientHashes stand for the first hundred of those.
	Resolved        int
	Recipients      int
	RecipientHashes []string `json:",omitempty"`
	// Artifacts is how many of each kind were decided on.
	Artifacts map[string]int `json:",omitempty"`

	// Steps are those that were taken, by the store's clock. EndedAt is the one
	// that had the last word about the row.
	BeganOn time.Time
	Steps   []TraceStep
	EndedAt string
	// Status, Reason, NextRetryOn and Hold are the row's afterwards, unless
	// somebody else wrote it meanwhile.
	Status      string
	Reason      Reason    `json:",omitempty"`
	NextRetryOn time.Time `json:",omitzero"`
	Hold        Reason    `json:",omitempty"`
	Error       string    `json:",omitempty"`
}

// TraceStep is a step of the due pass, for all rows that were handled together.
type TraceStep struct {
	Name    string
	EndedOn time.Time
}

// trace describes a try that was settled.
func (t *try) trace(b *batch, hashKey []byte) Trace {
	r := t.row
	out := Trace{
		Scope: r.Scope, Key: r.Key, AutomationType: r.AutomationType, Type: r.Type, TriggerType: r.TriggerType,
		BusinessUnit: r.BusinessUnit, Source: Source{r.SourceType, r.Source}, TriggerKey: r.TriggerKey,
		TargetDate: r.TargetDate, DaysBefore: r.DaysBefore, InputHash: r.InputHash, ScheduledOn: r.ScheduledOn,
		Attempt: t.due.Attempt, Setting: r.Setting, SettingActive: t.due.Setting.Active,
		Validity: t.validity, Resolved: t.resolved, Recipients: len(t.to), RecipientHashes: t.hashes(hashKey),
		BeganOn: b.now, Steps: b.taken, EndedAt: t.at,
		Status: r.Status, Reason: r.ReasonCode, NextRetryOn: r.NextRetryOn, Hold: r.HoldReason,
	}
	if t.err != nil {
		out.Error = storable(t.err.Error())
	}
	if t.decision != nil {
		out.Artifacts = t.decision.counts()
	}
	return out
}

// counts is how many of each kind there are.
func (d *decision) counts() map[string]int {
	a, out := d.artifacts, map[string]int{}
	for name, n := range map[string]int{
		"Candidate": len(d.plans), "AutomationJob": len(a.AutomationJobs), "NotificationJob": len(a.Jobs),
		"MessagingJob": len(a.MessagingJobs), "NotificationScheduler": len(a.Schedules),
		"UserMessage": len(a.UserMessages), "OutgoingMessage": len(a.OutgoingMessages),
	} {
		if n > 0 {
			out[name] = n
		}
	}
	return out
}
