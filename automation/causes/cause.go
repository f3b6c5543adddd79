// Package causes says why a row does not exist, or no longer runs:
// automation.Scheduler.ExplainMissing names one of all, and an Ensure that makes no row has
// OffsetPassed, TimeSkipped, SeriesEnded, SettingInactive or ThresholdNotMet as its outcome.
// Names without a package are those of package automation.
package causes

import "fmt"

// Cause says why a row does not exist, or no longer runs.
type Cause string

// The causes, in the order in which they are looked for. They have no type, since some are
// outcomes, too.
const (
	// Exists: there are open rows; Findings has their keys, Explain the rest.
	Exists = "Exists"
	// NoSuchType: no type that is registered in this process serves the
	// setting, by its name or by an Answer of its provider.
	// Ask a process that registers it.
	NoSuchType = "NoSuchType"
	// NoProvider: the type has no TriggerProvider, so rows exist only if the
	// host ensures them itself.
	NoProvider = "NoProvider"
	// SettingInactive: the SettingsSource says that the setting is off or gone. A row
	// that exists ends at its moment, or with the next event. Switch the setting on and
	// tell of the source's event again.
	SettingInactive = "SettingInactive"
	// ProviderFailed: the TriggerProvider returned an error or panicked, and
	// does so for every event of the source.
	ProviderFailed = "ProviderFailed"
	// ProviderGaveNone: the provider has no candidate of this setting for the
	// source: it is not active, not in the audience, has no date.
	ProviderGaveNone = "ProviderGaveNone"
	// ZoneUnknown: a candidate has no zone, or one that is not in the IANA
	// data of this machine. Like CandidateRefused it keeps every row of the event
	// from being made.
	ZoneUnknown = "ZoneUnknown"
	// CandidateRefused: a candidate cannot be stored; Detail has its
	// CandidateError.
	CandidateRefused = "CandidateRefused"
	// Ended: the row exists and has ended, for its Reason. Completed ones are
	// never done again unless support asks for it; see Support.Rerun.
	Ended = "Ended"
	// ThresholdNotMet: the condition of the candidate is not met at present. Open rows
	// that stand for it have ended, unless another candidate of the call still meets it.
	ThresholdNotMet = "ThresholdNotMet"
	// TimeSkipped: the local time does not exist on that day, and the policy is
	// GapSkip.
	TimeSkipped = "TimeSkipped"
	// OffsetPassed: the moment lies further back than the type's Lateness allows, or
	// did so when it was asked for; Detail has by how much. A row that exists has ended.
	OffsetPassed = "OffsetPassed"
	// SeriesEnded: the cadence of a recurring candidate has no occurrence left.
	SeriesEnded = "SeriesEnded"
	// NoRecipients: it would be made, and end without a delivery, since the
	// RecipientProvider names no recipient at present.
	NoRecipients = "NoRecipients"
	// NotAskedYet: everything says that it should exist. The event that asks
	// for it was never handled; tell of it, or let reconciliation find it.
	NotAskedYet = "NotAskedYet"
)

// causes say each of them to people.
var causes = map[Cause]string{
	Exists:           "it exists",
	NoSuchType:       "no type that is registered here serves the setting",
	NoProvider:       "only the host asks for it, since its type has no provider",
	SettingInactive:  "the setting is off or gone",
	ProviderFailed:   "the provider failed",
	ProviderGaveNone: "the provider asks for none",
	ZoneUnknown:      "the zone is unknown",
	CandidateRefused: "a candidate was refused",
	Ended:            "it has ended",
	ThresholdNotMet:  "the condition is not met",
	TimeSkipped:      "that local time does not exist",
	OffsetPassed:     "its moment had passed",
	SeriesEnded:      "the series has ended",
	NoRecipients:     "it would have no recipient",
	NotAskedYet:      "no event has asked for it yet",
}

// Words are for people, with the cause itself behind them.
func (c Cause) Words() string { return fmt.Sprintf("%s (%s)", causes[c], string(c)) }
