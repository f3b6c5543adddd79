package automationhttp

import (
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/keys"
)

// run is a run as support sees it. ID is its place below its subscription.
type run struct {
	ID              string    `json:"run"`
	Key             string    `json:"schedulerKey"`
	Subscription    string    `json:"reportSubscriptionGuid"`
	Manual          string    `json:"manualRunGuid,omitempty"`
	Type            string    `json:"type"`
	ScheduledOn     time.Time `json:"scheduledOn"`
	LocalDate       string    `json:"localDate,omitempty"`
	LocalTime       string    `json:"localTime,omitempty"`
	Zone            string    `json:"zone,omitempty"`
	Status          string    `json:"status"`
	Reason          string    `json:"reasonCode,omitempty"`
	EndedOn         time.Time `json:"endedOn,omitzero"`
	Failures        int       `json:"failures"`
	NextRetryOn     time.Time `json:"nextRetryOn,omitzero"`
	Diagnostics     string    `json:"diagnostics,omitempty"`
	IsOnSupportHold bool      `json:"isOnSupportHold"`
	HoldReason      string    `json:"holdReasonCode,omitempty"`
	HoldDetail      string    `json:"holdDetail,omitempty"`
	Summary         string    `json:"summary,omitempty"`
}

func runOf(s report.RunState) run {
	return run{
		ID: strings.TrimPrefix(s.Key, below(s.Subscription)), Key: s.Key, Subscription: s.Subscription, Manual: s.Manual, Type: s.Type,
		ScheduledOn: s.ScheduledOn.UTC(), LocalDate: s.LocalDate, LocalTime: s.LocalTime, Zone: s.Zone,
		Status: s.Status, Reason: string(s.Reason), EndedOn: s.EndedOn.UTC(),
		Failures: s.Failures, NextRetryOn: s.NextRetryOn.UTC(), Diagnostics: s.Diagnostics,
		IsOnSupportHold: s.IsOnSupportHold, HoldReason: string(s.HoldReason), HoldDetail: s.HoldDetail,
		Summary: s.Delivery.Summary,
	}
}

// below is what the keys of a subscription's runs begin with.
func below(guid string) string { return "report-subscription:" + guid + ":" }

// keyOf is the key of a run in an address; ok is false if it is none, or one of
// another subscription, about which nobody has asked the host.
func keyOf(guid, id string) (key string, ok bool) {
	key = below(guid) + id
	parsed, err := keys.Parse(key)
	if err != nil {
		return "", false
	}
	switch k := parsed.(type) {
	case keys.ReportRun:
		return key, k.Subscription == guid
	case keys.ManualReportRun:
		return key, k.Subscription == guid
	}
	return "", false
}
