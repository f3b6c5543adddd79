package main

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// newToken is a password for programs.
func newToken() string { return rand.Text() }

// handler serves the programs, the customers and the administrator.
func (g *garage) handler() http.Handler {
	forms := surveyhttp.Forms(g.surveys, &surveyhttp.FormOptions{Logger: g.log})
	mux := http.NewServeMux()
	mux.Handle("/api/Surveys/", surveyhttp.API(g.surveys, g.known, &surveyhttp.APIOptions{Logger: g.log}))
	mux.Handle("/s/", forms)
	mux.Handle("/SurveyInstances/", forms)
	mux.Handle("/admin/", g.admin())
	return mux
}

var errUnknown = errors.New("the token is not known")

// known lets in whoever has the token.
func (g *garage) known(r *http.Request) (surveyhttp.Caller, error) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+g.token)) != 1 {
		return surveyhttp.Caller{}, errUnknown
	}
	return surveyhttp.Caller{Ingest: true, Tick: true}, nil
}

// listen opens the address, and says what browsers call it.
func listen(addr string) (net.Listener, string, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, "", err
	}
	at := l.Addr().(*net.TCPAddr)
	if at.IP.IsUnspecified() {
		return l, fmt.Sprintf("http://localhost:%d", at.Port), nil
	}
	return l, "http://" + at.String(), nil
}

// server bounds how slowly somebody may talk to it.
func server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 20 * time.Second}
}
