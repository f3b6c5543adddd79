package notifyhttp

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/belfry-go/belfry/keys"
)

// decode reads one JSON object without unknown members. Another media type is
// refused, since a form of another site could send it.
func decode(r *http.Request, into any) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return errors.New("the body is not application/json")
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New("the body is not the JSON that is expected here")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body goes on after its JSON")
	}
	return nil
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that is gone
}

func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
}

// unavailable answers a call that failed. Only a key that cannot be one is the
// caller's own fault.
func unavailable(w http.ResponseWriter, err error) {
	var part *keys.PartError
	if errors.As(err, &part) {
		fail(w, http.StatusUnprocessableEntity, "there can be no such message")
		return
	}
	fail(w, http.StatusServiceUnavailable, "try again")
}
