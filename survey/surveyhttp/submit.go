package surveyhttp

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/belfry-go/belfry/survey"
)

// maxFormBody bounds what a customer sends: a form spells a letter that is not
// Latin with six bytes and more.
const maxFormBody = 128 << 10

func (f *forms) submit(w http.ResponseWriter, r *http.Request) {
	body, refused := readBody(w, r, maxFormBody)
	switch {
	case refused != nil:
		f.unread(w, r, refused)
	case media(r) == "application/json":
		f.submitJSON(w, r, body)
	case media(r) == "application/x-www-form-urlencoded":
		f.submitForm(w, r, body)
	default:
		f.unread(w, r, errMedia)
	}
}

func (f *forms) submitForm(w http.ResponseWriter, r *http.Request, body []byte) {
	posted, err := url.ParseQuery(string(body))
	if err != nil {
		f.unread(w, r, unreadable("the body is not a form"))
		return
	}
	form, err := f.s.Form(r.Context(), r.PathValue("token"))
	if err != nil {
		f.failed(w, r, "a form could not be read", err)
		return
	}
	p := f.page(r, form, StateForm)
	p.Action = "responses"
	answers, err := answersOf(form.Definition.Questions, posted, p.Lang)
	if err != nil {
		f.failed(w, r, "a form could not be read", err)
		return
	}
	p.ask(form.Definition, answers, posted)
	if p.More && form.State == survey.FormOpen {
		f.show(w, r, http.StatusOK, p)
		return
	}
	_, err = f.s.Submit(r.Context(), r.PathValue("token"), survey.Response{Answers: answers, IdempotencyKey: r.Header.Get("Idempotency-Key")})
	f.submitted(w, r, p, form.Definition.Questions, err)
}

// submitted answers a form with a page.
func (f *forms) submitted(w http.ResponseWriter, r *http.Request, p *Page, questions []survey.Question, err error) {
	wrong := (*survey.AnswersError)(nil)
	switch {
	case err == nil:
		p.State = StateThanks
		f.show(w, r, http.StatusOK, p)
	case errors.Is(err, survey.ErrAnswered):
		p.State = StateRefused
		f.show(w, r, http.StatusConflict, p)
	case errors.As(err, &wrong) && p.mark(questions, wrong.Faults):
		f.show(w, r, http.StatusUnprocessableEntity, p)
	case errors.As(err, &wrong):
		f.unread(w, r, unreadable("the form is not that of this survey"))
	default:
		f.failed(w, r, "answers could not be stored", err)
	}
}

// unread answers what could not be read.
func (f *forms) unread(w http.ResponseWriter, r *http.Request, why *refusal) {
	if wantsJSON(r) {
		problem{Status: why.status, Title: why.text}.write(w)
		return
	}
	f.show(w, r, why.status, f.blank(r, StateUnread))
}
