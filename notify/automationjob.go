package notify

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// AutomationJob is the thin trace of one run of due work in the history of its
// source (Automation & Reminders). It is written once and never scanned for
// work. A caller of EnsureAutomationJob fills in the fields down to
// ScheduledOn, with Scope and Type (the automation type) of the Record.
type AutomationJob struct {
	storage.Record
	// PartitionKey is the source entity, RowKey keys.AutomationRowKey.
	PartitionKey string `db:"partition_key,fixed"`
	RowKey       string `db:"row_key,fixed"`
	SchedulerKey string `db:"scheduler_key,fixed"`
	TriggerType  string `db:"trigger_type,fixed"`
	BusinessUnit string `db:"business_unit,fixed"`
	SourceType   string `db:"source_type,fixed"`
	Source       string `db:"source,fixed"`
	Setting      string `db:"setting,fixed"`
	InputHash    string `db:"input_hash,fixed"`
	// Result is what the run led to.
	Result      DispatchResult `db:"result,fixed,json"`
	ScheduledOn time.Time      `db:"scheduled_on,fixed"`

	CreatedOn time.Time `db:"created_on,fixed"`
}

var automationJobs = storage.Define[AutomationJob]("automation_job")
