package causes

import "github.com/belfry-go/belfry/storage"

// The outcomes of an Ensure by which no row was made, and none revived.
const (
	// OffsetPassed: its moment is later than the type's Lateness allows. If there is a
	// row, it has ended and stays so.
	OffsetPassed storage.Outcome = "OffsetPassed"
	// TimeSkipped: its local time does not exist, and the policy is GapSkip.
	TimeSkipped storage.Outcome = "TimeSkipped"
	// SeriesEnded: the cadence of a recurring candidate has no occurrence left.
	SeriesEnded storage.Outcome = "SeriesEnded"
	// SettingInactive: its setting is off, or there is none. A row that exists ends at
	// its moment, or with the next event.
	SettingInactive storage.Outcome = "SettingInactive"
	// ThresholdNotMet: its reading does not meet its Threshold. Open rows that
	// stand for it have ended, unless another candidate of the call still meets it.
	ThresholdNotMet storage.Outcome = "ThresholdNotMet"
)
