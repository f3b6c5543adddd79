package automationhttp

// delivery is what a run led to, for finding it in the pipeline and in blobs. The
// row key of the jobs is the StorageRunKeyHash of the run.
type delivery struct {
	Key             string      `json:"schedulerKey"`
	Path            string      `json:"path,omitempty"`
	AutomationJob   coordinates `json:"automationJob,omitzero"`
	NotificationJob coordinates `json:"notificationJob,omitzero"`
	Scheduler       string      `json:"notificationScheduler,omitempty"`
	MessagingJob    string      `json:"messagingJobGuid,omitempty"`
	Files           []file      `json:"files"`
	SkippedReason   string      `json:"skippedReasonCode,omitempty"`
	ConflictReason  string      `json:"conflictReasonCode,omitempty"`
	Summary         string      `json:"summary,omitempty"`
	Messages        []message   `json:"messages"`
	Next            string      `json:"next,omitempty"`
}

type coordinates struct {
	PartitionKey string `json:"partitionKey"`
	RowKey       string `json:"rowKey"`
}

type file struct {
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	ContentID string `json:"contentId,omitempty"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	Blob      string `json:"blob"`
}

// message is one of the messages, without its address and its text.
type message struct {
	Coordinates  coordinates `json:"coordinates"`
	MessageID    string      `json:"messageId"`
	RecipientRef string      `json:"recipientRef,omitempty"`
	Channel      string      `json:"channel"`
	Status       string      `json:"status"`
	Reason       string      `json:"reasonCode,omitempty"`
}
