package surveyhttp

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// refusal is a request that cannot be taken as it is.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

var (
	errCompressed  = &refusal{http.StatusUnsupportedMediaType, "the body is compressed: send it as it is"}
	errMedia       = &refusal{http.StatusUnsupportedMediaType, "the body is of another media type than is expected here"}
	errTooLarge    = &refusal{http.StatusRequestEntityTooLarge, "the body is too large"}
	errInterrupted = &refusal{http.StatusBadRequest, "the body did not come through"}
)

// unreadable is a body that is not what is expected.
func unreadable(text string) *refusal { return &refusal{http.StatusBadRequest, text} }

// media is the media type of a request.
func media(r *http.Request) string {
	m, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return m
}

// readBody reads a body of at most limit bytes that is not compressed.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *refusal) {
	for _, coding := range r.Header.Values("Content-Encoding") {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			w.Header().Set("Accept-Encoding", "identity")
			return nil, errCompressed
		}
	}
	if r.ContentLength > limit {
		return nil, errTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, errInterrupted
	}
	return body, nil
}
