package survey

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// linkKeyRow is a key that links are made with, where the host keeps none of its
// own. It is never due.
type linkKeyRow struct {
	storage.Record
	Secret    []byte    `db:"secret,fixed"`
	CreatedOn time.Time `db:"created_on,fixed"`
}

var linkKeys = storage.Define[linkKeyRow]("survey_link_key")

// linkHash is what a token is stored and looked up by.
func linkHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// linkOf is the address of the form for an instance.
func (s *Service) linkOf(_ context.Context, i *Instance) (string, error) {
	return strings.NewReplacer("{token}", i.UniqueHash, "{publicId}", i.PublicID).Replace(s.options.SurveyURL), nil
}
