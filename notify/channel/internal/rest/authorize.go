package rest

import (
	"encoding/base64"
	"net/http"
)

// Header returns an Options.Authorize that sets one header.
func Header(name, value string) func(http.Header) {
	return func(h http.Header) { h.Set(name, value) }
}

// Basic returns an Options.Authorize for HTTP Basic authentication.
func Basic(user, password string) func(http.Header) {
	return Header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}
