package survey

// Trigger produces an instance of its survey for events of one kind (Triggers &
// Scheduler, "What each field controls").
type Trigger struct {
	// ID is stable within the survey.
	ID string `json:"id"`
	// Enabled is the off-switch without removing the trigger.
	Enabled bool `json:"enabled"`
	// EventKind is that of the ingest calls which the trigger answers.
	EventKind string `json:"eventKind"`
	// Filter says which events of that kind produce an instance; nil: all. Its
	// paths are templateId, recipient.* and candidate.*.
	Filter *Filter `json:"filter,omitempty"`
	// DedupRecipe lists the paths whose values tell one event from another.
	DedupRecipe []string   `json:"dedupRecipe"`
	DedupScope  DedupScope `json:"dedupScope,omitempty"`
	Schedule    Schedule   `json:"schedule"`
	// Channel is the key of the channel, resolved when the link is sent.
	Channel string `json:"channel"`
	// ExpiresAfter is the absolute limit of an instance, from its event on; nil: none.
	ExpiresAfter *Duration `json:"expiresAfter,omitempty"`
	// ExpiryGrace is how long an instance stays open after its last send; nil:
	// that of [Options].
	ExpiryGrace *Duration `json:"expiryGrace,omitempty"`
	// Subscribers route the response; none: every registered subscriber gets it.
	Subscribers []Route `json:"subscribers,omitempty"`
}

// DedupScope says within what a duplicate is one.
type DedupScope string

// The scopes of a dedup recipe.
const (
	DedupTrigger DedupScope = "trigger" // the default: two triggers do not swallow each other's events
	DedupSurvey  DedupScope = "survey"  // as in the document: the survey's triggers share one set of hashes
)

// Schedule says when a link is sent.
type Schedule struct {
	// InitialDelay is from the event to the first send.
	InitialDelay Duration `json:"initialDelay"`
	// Reminders are the delays of further sends, each since the one before.
	Reminders []Duration `json:"reminders,omitempty"`
}

// Route sends a response to one subscriber.
type Route struct {
	Key string `json:"key"`
	// Filter is evaluated over the answers by question id; nil: always.
	Filter *Filter `json:"filter,omitempty"`
}
