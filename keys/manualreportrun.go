package keys

// ManualReportRun is the identity of one run of a report that a person asked
// for (Report Subscription):
//
//	report-subscription:{subscription}:manual:{run}
//
// Run is the only random id in any key. It is made before the first insert,
// returned to the caller, and used again by every retry.
type ManualReportRun struct {
	Subscription string // the report subscription, usually its GUID
	Run          string // the run's id, usually a GUID
}

// Key builds the key. The error is a [*PartError].
func (k ManualReportRun) Key() (string, error) {
	b := newBuilder("manual report run", "report-subscription")
	b.part("subscription", k.Subscription)
	b.literal("manual")
	b.part("run", k.Run)
	return b.key()
}

func (ManualReportRun) parsed() {}
