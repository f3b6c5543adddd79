package surveyhttp

import (
	"errors"
	"net/http"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/survey"
)

// leave asks whether the customer of a link wants no more. It changes nothing, since mail
// scanners open links.
func (f *forms) leave(w http.ResponseWriter, r *http.Request) { f.unsubscribe(w, r, StateLeave) }

// left is the button of that page, or the one click of a mail program, whose body says
// nothing more. It may be repeated.
func (f *forms) left(w http.ResponseWriter, r *http.Request) { f.unsubscribe(w, r, StateLeft) }

func (f *forms) unsubscribe(w http.ResponseWriter, r *http.Request, state State) {
	token := r.PathValue("token")
	locale, err := f.s.CheckUnsubscribe(r.Context(), token)
	if err == nil && state == StateLeft {
		err = f.s.Unsubscribe(r.Context(), token)
	}
	p := f.blank(r, state)
	if canonical(locale) != "" {
		p = f.in(locale, state)
	}
	p.Action = "unsubscribe"
	switch {
	case err == nil:
		f.show(w, r, http.StatusOK, p)
	case errors.Is(err, survey.ErrNoSurvey):
		f.nothing(w, r)
	default:
		httpapi.LogFailure(r, f.o.Logger, "an unsubscribe could not be noted", err)
		f.answer(w, r, http.StatusServiceUnavailable, StateBusy)
	}
}
