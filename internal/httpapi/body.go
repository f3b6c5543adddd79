package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Why a body is refused before it is parsed.
var (
	Compressed  = &Problem{Status: http.StatusUnsupportedMediaType, Title: "the body must not be compressed"}
	TooLarge    = &Problem{Status: http.StatusRequestEntityTooLarge, Title: "the body is too large"}
	Interrupted = &Problem{Status: http.StatusBadRequest, Title: "the body could not be read to its end"}
)

// Media is the media type of a request, in lower case and without parameters; empty
// if there is none that can be read. A route that changes something takes
// application/json only: a form of another site can send other types unasked.
func Media(r *http.Request) string {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// PlainBody reads a body of at most limit bytes that is not compressed. The problem is
// nil, Compressed, TooLarge or Interrupted; nothing is answered.
func PlainBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *Problem) {
	for _, coding := range r.Header.Values("Content-Encoding") {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			w.Header().Set("Accept-Encoding", "identity")
			return nil, Compressed
		}
	}
	return RawBody(w, r, limit)
}

// RawBody reads a body of at most limit bytes as it was sent. The problem is nil,
// TooLarge or Interrupted; nothing is answered.
func RawBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *Problem) {
	if r.ContentLength > limit {
		return nil, TooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, TooLarge
	}
	if err != nil {
		return nil, Interrupted
	}
	return body, nil
}
