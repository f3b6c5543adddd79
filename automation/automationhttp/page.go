package automationhttp

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/belfry-go/belfry/automation/report"
)

const (
	defaultLimit = 50
	maxLimit     = 200
)

// page reads which part of a list is wanted. It answers for itself unless it is
// true.
func page(w http.ResponseWriter, r *http.Request) (report.Page, bool) {
	p := report.Page{Limit: defaultLimit}
	wrong := func(text string) (report.Page, bool) {
		problem{Status: http.StatusBadRequest, Title: text}.write(w)
		return p, false
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return wrong("the query cannot be read")
	}
	for name, values := range query {
		switch {
		case name != "after" && name != "limit":
			return wrong(`the query has more than "after" and "limit"`)
		case len(values) > 1:
			return wrong("the query says " + name + " twice")
		}
	}
	p.After = query.Get("after")
	if query.Has("limit") {
		p.Limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || p.Limit < 1 || p.Limit > maxLimit {
			return wrong(`"limit" is not a number from 1 to ` + strconv.Itoa(maxLimit))
		}
	}
	return p, true
}
