package survey

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// Survey is a survey as it is listed. What it is called is as in its latest version.
type Survey struct {
	Scope                             Scope
	ID                                int64
	Name, IntegrationID, BusinessUnit string
	// PublishedVersion is the number of the version that ingest uses; zero: none.
	PublishedVersion int64
	// LatestVersion is the highest number so far.
	LatestVersion int64
	SavedOn       time.Time // published or unpublished last
}

// Surveys lists the surveys of a scope in the order of their ids, and says where the
// next page begins; empty after the last.
func (s *Service) Surveys(ctx context.Context, scope Scope, p storage.Page) (list []Survey, next string, err error) {
	rows, next, err := listRows(ctx, s.core, surveys, scope, p, driver.Query{})
	for _, r := range rows {
		list = append(list, Survey{
			Scope: r.Scope, ID: r.SurveyID, Name: r.Name, IntegrationID: r.IntegrationID, BusinessUnit: r.BusinessUnit,
			PublishedVersion: r.PublishedVersion, LatestVersion: r.LatestVersion, SavedOn: r.SavedOn,
		})
	}
	return list, next, err
}

// VersionInfo is a version as it is listed.
type VersionInfo struct {
	Scope                             Scope
	SurveyID, Number                  int64
	Name, IntegrationID, BusinessUnit string
	ContentHash                       string // see [Published]
	PublishedOn                       time.Time
}

// Versions lists the versions of a survey, the newest first, and says where the next
// page begins; empty after the last.
func (s *Service) Versions(ctx context.Context, scope Scope, surveyID int64, p storage.Page) (list []VersionInfo, next string, err error) {
	rows, next, err := listRows(ctx, s.core, versions, scope, p, driver.Query{
		Columns: []string{"survey_id", "number", "name", "integration_id", "business_unit", "content_hash", "published_on"},
		Where:   []driver.Cond{driver.Greater("key", surveyKey(surveyID)+":"), driver.Less("key", surveyKey(surveyID)+";")},
		Desc:    true,
	})
	for _, r := range rows {
		list = append(list, VersionInfo{
			Scope: r.Scope, SurveyID: r.SurveyID, Number: r.Number, Name: r.Name, IntegrationID: r.IntegrationID,
			BusinessUnit: r.BusinessUnit, ContentHash: r.ContentHash, PublishedOn: r.PublishedOn,
		})
	}
	return list, next, err
}

// Definition is the definition of a version; number zero means the published one. The
// answer is the caller's own. What does not exist is storage.ErrNotFound.
func (s *Service) Definition(ctx context.Context, scope Scope, surveyID, number int64) (form.Definition, error) {
	var row *versionRow
	err := s.read(ctx, func(from driver.Reader) (err error) {
		row, err = oneVersion(ctx, from, scope, surveyID, number)
		return err
	})
	if err != nil {
		return form.Definition{}, fmt.Errorf("survey: version %d of survey %d: %w", number, surveyID, err)
	}
	v, err := row.parse()
	if err != nil {
		return form.Definition{}, err
	}
	return v.Definition, nil
}

func oneVersion(ctx context.Context, from driver.Reader, scope Scope, surveyID, number int64) (*versionRow, error) {
	if number == 0 {
		row, err := surveys.Get(ctx, from, scope, surveyKey(surveyID))
		if err != nil {
			return nil, err
		}
		if number = row.PublishedVersion; number == 0 {
			return nil, storage.ErrNotFound
		}
	}
	return versions.Get(ctx, from, scope, versionKey(surveyID, number))
}

// listRows reads a page of rows in the order of their keys.
func listRows[R any](ctx context.Context, s *core, t *driver.Table[R], scope Scope, p storage.Page, q driver.Query) (rows []*R, next string, err error) {
	err = s.read(ctx, func(from driver.Reader) (err error) {
		rows, next, err = t.Page(ctx, from, scope, p, q)
		return err
	})
	return rows, next, err
}
