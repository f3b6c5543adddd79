package survey

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Version is what [Service.Publish] takes: a survey with its definition.
type Version struct {
	Scope Scope
	// SurveyID is the host's id of the survey, above zero: the templateId of recipes.
	SurveyID int64
	// Number is what the host thinks the new version's number is; zero: the next one.
	Number int64
	// Name is for people. IntegrationID tells subscribers what kind of survey it is.
	Name, IntegrationID string
	// BusinessUnit is the host's; it may be empty.
	BusinessUnit string
	// Definition is a [Definition] as JSON.
	Definition json.RawMessage
}

// surveyRow is a survey; Key is its id. It is never due.
type surveyRow struct {
	storage.Record
	Name          string `db:"name"`
	IntegrationID string `db:"integration_id"`
	BusinessUnit  string `db:"business_unit"`
	// PublishedVersion is the number of the version that ingest uses; zero: none.
	PublishedVersion int64     `db:"published_version"`
	SavedOn          time.Time `db:"saved_on"`
}

var surveys = storage.Define[surveyRow]("survey")

// versionRow is a published version, which never changes; Key is versionKey. It is
// never due.
type versionRow struct {
	storage.Record
	SurveyID      int64           `db:"survey_id,fixed"`
	Number        int64           `db:"number,fixed"`
	Name          string          `db:"name,fixed"`
	IntegrationID string          `db:"integration_id,fixed"`
	BusinessUnit  string          `db:"business_unit,fixed"`
	ContentHash   string          `db:"content_hash,fixed"`
	Definition    json.RawMessage `db:"definition,fixed,json"`
	PublishedOn   time.Time       `db:"published_on,fixed"`
}

var versions = storage.Define[versionRow]("survey_version").Limit(maxDefinition + 8<<10)

// maxDefinition bounds a definition in bytes.
const maxDefinition = 256 << 10

// triggerRow is a trigger of the published version of a survey, found by its event
// kind; Key is triggerKey. It is never due.
type triggerRow struct {
	storage.Record
	SurveyID  int64  `db:"survey_id,fixed"`
	TriggerID string `db:"trigger_id,fixed"`
	// EventKind is empty while the trigger is none of the published version, or is
	// switched off.
	EventKind     string `db:"event_kind"`
	VersionNumber int64  `db:"version_number"`
	ContentHash   string `db:"content_hash"`
}

var triggers = storage.Define[triggerRow]("survey_trigger")
