package automation

import (
	"fmt"
	"strings"
	"time"
)

// Cause says why a row does not exist, or does not run any more.
type Cause string

// The causes, in the order in which they are looked for.
const (
	// CauseExists: there are open rows; Findings has their keys, Explain the rest.
	CauseExists Cause = "Exists"
	// CauseNoSuchType: no type that is registered in this process serves the
	// setting, by its name, by a candidate of its provider or by a [SettingLister].
	// Ask a process that registers it.
	CauseNoSuchType Cause = "NoSuchType"
	// CauseNoProvider: the type has no [TriggerProvider], so rows exist only if the
	// host ensures them itself.
	CauseNoProvider Cause = "NoProvider"
	// CauseSettingOff: the [SettingsSource] says that the setting is off or gone.
	// Switch it on and tell of the source's event again.
	CauseSettingOff Cause = "SettingOff"
	// CauseProviderFailed: the [TriggerProvider] returned an error or panicked, and
	// does so for every event of the source.
	CauseProviderFailed Cause = "ProviderFailed"
	// CauseProviderGaveNone: the provider has no candidate of this setting for the
	// source: it is not active, not in the audience, has no date.
	CauseProviderGaveNone Cause = "ProviderGaveNone"
	// CauseZoneUnknown: a candidate has no zone, or one that is not in the IANA
	// data of this machine. Like CandidateRefused it keeps every row of the event
	// from being made.
	CauseZoneUnknown Cause = "ZoneUnknown"
	// CauseCandidateRefused: a candidate cannot be stored; Detail has its
	// [CandidateError].
	CauseCandidateRefused Cause = "CandidateRefused"
	// CauseEnded: the row exists and has ended, for its Reason. Completed ones are
	// never done again unless support asks for it; see [Scheduler.Rerun].
	CauseEnded Cause = "Ended"
	// CauseThresholdNotMet: the condition of the candidate is not met at present.
	CauseThresholdNotMet Cause = "ThresholdNotMet"
	// CauseTimeSkipped: the local time does not exist on that day, and the policy is
	// GapSkip.
	CauseTimeSkipped Cause = "TimeSkipped"
	// CauseOffsetPassed: the moment lies further back than the type's CatchUp.
	CauseOffsetPassed Cause = "OffsetPassed"
	// CauseSeriesEnded: the cadence of a recurring candidate has no occurrence left.
	CauseSeriesEnded Cause = "SeriesEnded"
	// CauseNoRecipients: it would be made, and end without a delivery, since the
	// [RecipientProvider] names nobody at present.
	CauseNoRecipients Cause = "NoRecipients"
	// CauseNotAskedYet: everything says that it should exist. The event that asks
	// for it was never handled; tell of it, or let reconciliation find it.
	CauseNotAskedYet Cause = "NotAskedYet"
)

// Finding is what is known about one row that exists or could.
type Finding struct {
	Key         string // empty if no key can be built
	Cause       Cause
	ScheduledOn time.Time // zero if it is not known
	Status      string    // of a row that exists
	Reason      Reason    // of a row that has ended or is on hold
	Detail      string    // for people
}

// Absence says why no row exists for a setting and a source. String tells it to
// people.
type Absence struct {
	Scope   Scope
	Setting string
	Source  Source
	// Cause is the one of the first finding, or else says why there is none.
	Cause  Cause
	Detail string // for people; may be empty
	// LastEvent is the event of the source that was handled last, "{type} {id}";
	// empty: none ever was.
	LastEvent string
	// Findings are about single rows, those that are nearest to running first.
	Findings []Finding
}

// String is a text of several lines.
func (a Absence) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s for %s %s: %s", a.Setting, a.Source.Type, a.Source.ID, a.Cause)
	if a.Detail != "" {
		fmt.Fprintf(&b, ": %s", a.Detail)
	}
	for _, f := range a.Findings {
		fmt.Fprintf(&b, "\n  %s", f)
	}
	if a.LastEvent == "" {
		b.WriteString("\n  no event of the source was ever handled")
	} else {
		fmt.Fprintf(&b, "\n  last event of the source: %s", a.LastEvent)
	}
	return b.String()
}

// String is a line of text.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", f.Key, f.Cause)
	if f.Status != "" {
		fmt.Fprintf(&b, ", %s", f.Status)
	}
	if f.Reason != "" {
		fmt.Fprintf(&b, ", %s", f.Reason)
	}
	if !f.ScheduledOn.IsZero() {
		fmt.Fprintf(&b, ", for %s", stampText(f.ScheduledOn))
	}
	if f.Detail != "" {
		fmt.Fprintf(&b, " (%s)", f.Detail)
	}
	return b.String()
}
