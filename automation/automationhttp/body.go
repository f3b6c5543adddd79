package automationhttp

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/belfry-go/belfry/internal/strictjson"
)

// maxBody bounds what a caller may send.
const maxBody = 8 << 10

// readBody reads one JSON object into what v points to. It answers for itself
// unless it is true.
func readBody(w http.ResponseWriter, r *http.Request, v any) bool {
	text, refused := bodyText(w, r)
	if refused == nil {
		faults := strictjson.Decode(text, v)
		if len(faults) == 0 {
			return true
		}
		refused = &problem{Status: http.StatusBadRequest, Title: "the body is not the JSON that is expected here"}
		for _, f := range faults {
			refused.Errors = append(refused.Errors, fault{f.Path, f.Problem})
		}
	}
	refused.write(w)
	return false
}

// bodyText reads a body of another media type as little as one of a form, which a
// page of another site could send.
func bodyText(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &problem{Status: http.StatusUnsupportedMediaType, Title: "the body is not application/json"}
	}
	for _, coding := range r.Header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(coding), "identity") {
			w.Header().Set("Accept-Encoding", "identity")
			return nil, &problem{Status: http.StatusUnsupportedMediaType, Title: "the body is compressed: send it as it is"}
		}
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &problem{Status: http.StatusRequestEntityTooLarge, Title: "the body is too large"}
	case err != nil:
		return nil, &problem{Status: http.StatusBadRequest, Title: "the body did not come through"}
	}
	return text, nil
}
