package report

import "github.com/belfry-go/belfry/automation"

// Reasons of runs that are no longer wanted. A run whose subscription was deleted
// has reasons.SourceNoLongerValid, one that nobody would get
// reasons.NoRecipients.
const (
	// SubscriptionInactive: the subscription was paused or deactivated. Resume it;
	// missed runs are not made up for.
	SubscriptionInactive automation.Reason = "SubscriptionInactive"
	// ReportEmpty: the report had nothing to say, and the subscription does not send
	// such reports. No action needed.
	ReportEmpty automation.Reason = "ReportEmpty"
)
