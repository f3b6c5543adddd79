package keys

import "time"

// ReportRun is the identity of one scheduled run of a report (Report
// Subscription):
//
//	report-subscription:{subscription}:scheduled:{periodStartUtc or scheduledOn}
//
// Which of the two instants it is belongs to the subscription and never
// changes: the start of the period if the report's cadence has one, so that a
// moved time of sending makes no second run, else the time of the schedule.
type ReportRun struct {
	Subscription string    // the report subscription, usually its GUID
	On           time.Time // set, in whole seconds; any zone, written in UTC
}

// Key builds the key. The error is a [*PartError].
func (k ReportRun) Key() (string, error) {
	b := newBuilder("report run", "report-subscription")
	b.part("subscription", k.Subscription)
	b.literal("scheduled")
	b.instant("scheduled", k.On)
	return b.key()
}

func (ReportRun) parsed() {}

// parseReport reads the two formats that begin with "report-subscription".
func parseReport(key string) (Parsed, error) {
	c, err := components("report run", key, 4)
	if err != nil {
		return nil, err
	}
	switch c[2] {
	case "scheduled":
		on, err := parseInstant("report run", "scheduled", c[3])
		if err != nil {
			return nil, err
		}
		return ReportRun{Subscription: c[1], On: on}, nil
	case "manual":
		return ManualReportRun{Subscription: c[1], Run: c[3]}, nil
	}
	return nil, &PartError{Kind: "report run", Problem: "is neither scheduled nor manual"}
}
