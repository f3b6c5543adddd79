package survey

import (
	"encoding/json"
	"fmt"
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
	// Definition is a [Definition] as JSON, at most 256 KiB without spaces.
	Definition json.RawMessage
}

// surveyRow is a survey; Key is surveyKey. It is never due.
type surveyRow struct {
	storage.Record
	SurveyID      int64  `db:"survey_id,fixed"`
	Name          string `db:"name"`
	IntegrationID string `db:"integration_id"`
	BusinessUnit  string `db:"business_unit"`
	// LatestVersion is the highest number so far, and ContentHash that version's.
	LatestVersion int64  `db:"latest_version"`
	ContentHash   string `db:"content_hash"`
	// PublishedVersion is the number of the version that ingest uses; zero: none.
	PublishedVersion int64     `db:"published_version"`
	SavedOn          time.Time `db:"saved_on"`
}

var surveys = storage.Define[surveyRow]("survey")

// surveyKey is the key of a survey's row: in the order of the ids.
func surveyKey(surveyID int64) string { return fmt.Sprintf("%019d", surveyID) }

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

// maxDefinition bounds a definition in bytes, as it is stored.
const maxDefinition = 256 << 10

// versionKey is the key of a version's row: in the order of the numbers within a
// survey.
func versionKey(surveyID, number int64) string {
	return surveyKey(surveyID) + fmt.Sprintf(":%019d", number)
}

// triggerRow is a trigger of the published version of a survey, found by its event
// kind; Key is the survey's and the trigger's id. It is never due.
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
