package notify

import (
	"cmp"
	"slices"
)

// Path is the way that a delivery takes, by its producer (Communication -
// System architecture, "Choose send path by producer").
type Path string

// The delivery paths.
const (
	PathManual             Path = "Manual"
	PathDirectReminder     Path = "DirectReminder"
	PathUIOnlyReminder     Path = "UIOnlyReminder"
	PathReportSubscription Path = "ReportSubscription"
	PathCampaign           Path = "Campaign"
	PathSkipped            Path = "Skipped" // nothing is sent; the reason is kept
)

// maxResultMessages bounds the messages that one result names, since it is
// stored in a small row.
const maxResultMessages = 10

// DispatchResult is what a piece of due work led to (Communication - Codebase
// flow, "DeliveryDispatchResult"). It is compact, merged when work is repeated,
// and never deleted. The zero value says that nothing was dispatched yet.
type DispatchResult struct {
	Path          Path        `json:"path,omitempty"`
	AutomationJob Coordinates `json:"automationJob,omitzero"`
	Notification  Coordinates `json:"notification,omitzero"`
	// Scheduler is the dispatch guard, see [Schedule.Guard].
	Scheduler    string `json:"scheduler,omitempty"`
	MessagingJob string `json:"messagingJob,omitempty"` // its GUID
	// Files are those of a report: its blobs, and the names that they go by.
	Files            []AttachmentRef `json:"files,omitempty"`
	UserMessages     []Coordinates   `json:"userMessages,omitempty"`
	OutgoingMessages []Coordinates   `json:"outgoingMessages,omitempty"`
	// SkippedReason and ConflictReason are codes; Summary is for people.
	SkippedReason  string `json:"skippedReasonCode,omitempty"`
	ConflictReason string `json:"conflictReasonCode,omitempty"`
	Summary        string `json:"summary,omitempty"`
}

// IsZero reports whether nothing was dispatched yet.
func (r DispatchResult) IsZero() bool {
	return r.Path == "" && r.AutomationJob == Coordinates{} && r.Notification == Coordinates{} && r.Scheduler == "" &&
		r.MessagingJob == "" && len(r.Files) == 0 && len(r.UserMessages)+len(r.OutgoingMessages) == 0 &&
		r.SkippedReason == "" && r.ConflictReason == "" && r.Summary == ""
}

// Merge gives r with what later says: coordinates that later has replace or
// join those of r, and what later leaves empty stays. At most ten messages of
// each kind are named.
func (r DispatchResult) Merge(later DispatchResult) DispatchResult {
	return DispatchResult{
		Path:             cmp.Or(later.Path, r.Path),
		AutomationJob:    either(later.AutomationJob, r.AutomationJob),
		Notification:     either(later.Notification, r.Notification),
		Scheduler:        cmp.Or(later.Scheduler, r.Scheduler),
		MessagingJob:     cmp.Or(later.MessagingJob, r.MessagingJob),
		Files:            lastFiles(r.Files, later.Files),
		UserMessages:     union(r.UserMessages, later.UserMessages),
		OutgoingMessages: union(r.OutgoingMessages, later.OutgoingMessages),
		SkippedReason:    cmp.Or(later.SkippedReason, r.SkippedReason),
		ConflictReason:   cmp.Or(later.ConflictReason, r.ConflictReason),
		Summary:          cmp.Or(later.Summary, r.Summary),
	}
}

func either(a, b Coordinates) Coordinates {
	if a.IsZero() {
		return b
	}
	return a
}

func lastFiles(a, b []AttachmentRef) []AttachmentRef {
	if len(b) == 0 {
		return slices.Clone(a)
	}
	return slices.Clone(b)
}

func union(a, b []Coordinates) []Coordinates {
	out := slices.Clone(a)
	for _, c := range b {
		if !slices.Contains(out, c) && len(out) < maxResultMessages {
			out = append(out, c)
		}
	}
	return out
}
