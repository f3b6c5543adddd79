package survey

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

var errNoSurveyURL = errors.New("survey: Options.SurveyURL is not set")

// Link is the address of the form of an instance, with its secret token, for a host
// that sends it by a way of its own. It is the same as in every send. Whoever has
// it can answer for the customer, so it belongs in no log. The error wraps
// storage.ErrNotFound where scope has no such instance or it was deleted, and
// [ErrLinkKey].
func (s *Service) Link(ctx context.Context, scope Scope, publicID string) (string, error) {
	var row *Instance
	err := s.inTx(ctx, func(tx storage.Tx) (err error) {
		row, err = readInstance(ctx, tx, scope, publicID)
		return err
	})
	if err == nil && !row.DeletedOn.IsZero() {
		err = storage.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("survey: Link of %s: %w", publicID, err)
	}
	return s.linkOf(ctx, row)
}

// linkOf is the address of the form of an instance. It is not called inside a
// transaction other than the bound one.
func (s *Service) linkOf(ctx context.Context, row *Instance) (string, error) {
	if s.options.SurveyURL == "" {
		return "", errNoSurveyURL
	}
	key, err := s.linkKey(ctx, row.Scope, row.LinkKey)
	if err != nil {
		return "", fmt.Errorf("survey: link of %s: %w", row.PublicID, err)
	}
	token := key.Token(row.PublicID)
	if linkHash(token) != row.LinkHash {
		return "", fmt.Errorf("survey: link of %s: %w: %s is another key now", row.PublicID, ErrLinkKey, row.LinkKey)
	}
	return surveyURL(s.options.SurveyURL, token, row.PublicID), nil
}

func surveyURL(template, token, publicID string) string {
	return strings.NewReplacer("{token}", token, "{publicId}", publicID).Replace(template)
}

// checkSurveyURL refuses a template that gives no address of a form.
func checkSurveyURL(template string) error {
	if !strings.Contains(template, "{token}") {
		return errors.New("it does not have {token}")
	}
	filled := surveyURL(template, strings.Repeat("a", keys.LinkTokenLen), "8f3a1c4e-0b1d-4c2e-9f3a-5b6c7d8e9f00")
	u, err := url.Parse(filled)
	switch {
	case err != nil:
		return err
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return errors.New("it is no absolute http or https address")
	case strings.ContainsAny(filled, "{} \t"):
		return errors.New("it holds a space or a brace that is no {token} or {publicId}")
	}
	return nil
}
