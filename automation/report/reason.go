package report

import "github.com/belfry-go/belfry/automation"

// Reasons of runs that are no longer wanted. A run whose subscription was deleted
// has automation.SourceNoLongerValid, one that nobody would get
// automation.NoRecipients.
const (
	// SubscriptionInactive: the subscription was paused or deactivated. Resume it;
	// what was missed in between is not made up for.
	SubscriptionInactive automation.Reason = "SubscriptionInactive"
	// ReportEmpty: the report had nothing to say, and the subscription does not send
	// such reports. Nothing is to be done.
	ReportEmpty automation.Reason = "ReportEmpty"
)
