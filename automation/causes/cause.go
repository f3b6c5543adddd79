// Package causes says why a row does not exist, or does not run any more: the causes that
// automation.Scheduler.ExplainMissing names, and the outcomes by which an Ensure makes none.
// Names without a package are those of package automation.
package causes

import "fmt"

// Cause says why a row does not exist, or does not run any more.
type Cause string

// The causes, in the order in which they are looked for.
const (
	// CauseExists: there are open rows; Findings has their keys, Explain the rest.
	CauseExists Cause = "Exists"
	// CauseNoSuchType: no type that is registered in this process serves the
	// setting, by its name or by an Answer of its provider.
	// Ask a process that registers it.
	CauseNoSuchType Cause = "NoSuchType"
	// CauseNoProvider: the type has no TriggerProvider, so rows exist only if the
	// host ensures them itself.
	CauseNoProvider Cause = "NoProvider"
	// CauseSettingOff: the SettingsSource says that the setting is off or gone.
	// Switch it on and tell of the source's event again.
	CauseSettingOff Cause = "SettingOff"
	// CauseProviderFailed: the TriggerProvider returned an error or panicked, and
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
	// CandidateError.
	CauseCandidateRefused Cause = "CandidateRefused"
	// CauseEnded: the row exists and has ended, for its Reason. Completed ones are
	// never done again unless support asks for it; see Support.Rerun.
	CauseEnded Cause = "Ended"
	// CauseThresholdNotMet: the condition of the candidate is not met at present.
	CauseThresholdNotMet Cause = "ThresholdNotMet"
	// CauseTimeSkipped: the local time does not exist on that day, and the policy is
	// GapSkip.
	CauseTimeSkipped Cause = "TimeSkipped"
	// CauseOffsetPassed: the moment lies further back than the type's Lateness allows, or
	// did so when it was asked for; Detail has by how much.
	CauseOffsetPassed Cause = "OffsetPassed"
	// CauseSeriesEnded: the cadence of a recurring candidate has no occurrence left.
	CauseSeriesEnded Cause = "SeriesEnded"
	// CauseNoRecipients: it would be made, and end without a delivery, since the
	// RecipientProvider names nobody at present.
	CauseNoRecipients Cause = "NoRecipients"
	// CauseNotAskedYet: everything says that it should exist. The event that asks
	// for it was never handled; tell of it, or let reconciliation find it.
	CauseNotAskedYet Cause = "NotAskedYet"
)

// causes say each of them to people.
var causes = map[Cause]string{
	CauseExists:           "it exists",
	CauseNoSuchType:       "no type that is registered here serves the setting",
	CauseNoProvider:       "only the host asks for it, since its type has no provider",
	CauseSettingOff:       "the setting is off or gone",
	CauseProviderFailed:   "the provider failed",
	CauseProviderGaveNone: "the provider asks for none",
	CauseZoneUnknown:      "the zone is unknown",
	CauseCandidateRefused: "a candidate was refused",
	CauseEnded:            "it has ended",
	CauseThresholdNotMet:  "the condition is not met",
	CauseTimeSkipped:      "that local time does not exist",
	CauseOffsetPassed:     "its moment had passed",
	CauseSeriesEnded:      "the series has ended",
	CauseNoRecipients:     "nobody would receive it",
	CauseNotAskedYet:      "no event has asked for it yet",
}

// Words are for people, with the cause itself behind them.
func (c Cause) Words() string { return fmt.Sprintf("%s (%s)", causes[c], string(c)) }
