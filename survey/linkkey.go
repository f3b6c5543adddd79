package survey

import (
	"crypto/sha256"
	"encoding/hex"
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
