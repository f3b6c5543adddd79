package surveyhttp

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// leastBody is what a customer may send in any case.
const leastBody = 128 << 10

// maxBody bounds what a customer sends: a form spells each byte that is not a Latin letter
// with three.
func maxBody(d *form.Definition) int64 { return int64(max(leastBody, 3*d.MostAnswers())) }

func (f *forms) submit(w http.ResponseWriter, r *http.Request) {
	asked, err := f.s.Form(r.Context(), r.PathValue("token"))
	if err != nil {
		f.failed(w, r, "a form could not be read", err)
		return
	}
	body, refused := httpapi.PlainBody(w, r, maxBody(asked.Definition))
	switch {
	case refused != nil:
		f.unread(w, r, refused)
	case httpapi.Media(r) == "application/json":
		f.submitJSON(w, r, body)
	case elsewhere(asked):
		f.nothing(w, r)
	case httpapi.Media(r) == "application/x-www-form-urlencoded":
		f.submitForm(w, r, asked, body)
	default:
		f.unread(w, r, errMedia)
	}
}

func (f *forms) submitForm(w http.ResponseWriter, r *http.Request, form survey.Form, body []byte) {
	posted, unread := url.ParseQuery(string(body)) // with an error it gives what it could read
	p := f.page(r, form, StateForm)
	p.Action = "responses" + f.query(r)
	if p.Open || p.Anonymous {
		p.Nonce = cmp.Or(posted.Get("nonce"), rand.Text())
	}
	answers, err := answersOf(form.Definition.Questions, posted, p.Lang)
	if err != nil {
		f.failed(w, r, "a form could not be read", err)
		return
	}
	p.ask(form, answers, posted, posted)
	if unread != nil {
		f.again(w, r, p, http.StatusBadRequest, StateUnread)
		return
	}
	if form.State == survey.FormExpired {
		f.again(w, r, p, http.StatusGone, StateExpired)
		return
	}
	if form.State == survey.FormOpen && f.turned(w, r, form, p, posted, answers) {
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if p.Nonce != "" { // the same answers by the same form are a repeat
		key = fmt.Sprintf("%s:%x", p.Nonce, sha256.Sum256(answers))
	}
	receipt, err := f.s.Submit(r.Context(), r.PathValue("token"), survey.Response{Answers: answers, Locale: p.Lang, IdempotencyKey: key, Address: f.o.Address(r)})
	f.submitted(w, r, p, form, receipt, err)
}

// turned answers a form that is not to be stored yet: some of it was not asked, or another page
// comes first.
func (f *forms) turned(w http.ResponseWriter, r *http.Request, link survey.Form, p *Page, posted url.Values, answers json.RawMessage) bool {
	status, next := http.StatusOK, p.beside(1)
	switch {
	case posted.Get(wayName) == wayBack && !p.First():
		p.More = false
		p.turn(link, p.beside(-1))
	case p.More:
	case next == 0:
		return false
	case p.faulty(link, answers):
		status = http.StatusUnprocessableEntity
	default:
		p.turn(link, next)
	}
	f.show(w, r, status, p)
	return true
}

// faulty says whether something is wrong up to the shown page, and shows the first page where
// there is.
func (p *Page) faulty(link survey.Form, answers json.RawMessage) bool {
	wrong := (*form.AnswersError)(nil)
	if _, err := link.Definition.Accept(answers); !errors.As(err, &wrong) {
		return false
	}
	upTo := slices.DeleteFunc(slices.Clone(wrong.Faults), func(fault form.AnswerFault) bool {
		field := p.field(fault.QuestionID)
		return field == nil || field.Page > p.At
	})
	return p.mark(link, upTo) && len(upTo) > 0
}

// submitted answers a form with a page.
func (f *forms) submitted(w http.ResponseWriter, r *http.Request, p *Page, link survey.Form, receipt survey.Receipt, err error) {
	wrong := (*form.AnswersError)(nil)
	switch {
	case err == nil:
		f.toForm(w, cmp.Or(receipt.Token, r.PathValue("token")), "?sent"+strings.Replace(f.query(r), "?", "&", 1))
	case errors.Is(err, survey.ErrAnswered):
		f.again(w, r, p, http.StatusConflict, StateRefused)
	case errors.Is(err, survey.ErrTooMany):
		f.again(w, r, p, http.StatusTooManyRequests, StateBusy)
	case errors.As(err, &wrong) && p.mark(link, wrong.Faults):
		f.show(w, r, http.StatusUnprocessableEntity, p)
	case errors.As(err, &wrong):
		f.again(w, r, p, http.StatusBadRequest, StateUnread)
	case errors.Is(err, survey.ErrExpired):
		f.again(w, r, p, http.StatusGone, StateExpired)
	case errors.Is(err, survey.ErrNoSurvey):
		f.nothing(w, r)
	default:
		httpapi.LogFailure(r, f.o.Logger, "answers could not be stored", err)
		f.again(w, r, p, http.StatusServiceUnavailable, StateBusy)
	}
}

// again shows what was typed together with what went wrong.
func (f *forms) again(w http.ResponseWriter, r *http.Request, p *Page, status int, state State) {
	p.State = state
	f.show(w, r, status, p)
}

// kept reads a form that cannot be looked at now, so that it can be sent again.
func kept(w http.ResponseWriter, r *http.Request) []Kept {
	if r.Method != http.MethodPost || httpapi.Media(r) != "application/x-www-form-urlencoded" {
		return nil
	}
	body, refused := httpapi.PlainBody(w, r, 3*form.MaxAnswers)
	if refused != nil {
		return nil
	}
	posted, _ := url.ParseQuery(string(body)) // what it could read
	var out []Kept
	for _, name := range slices.Sorted(maps.Keys(posted)) {
		for _, value := range posted[name] {
			out = append(out, Kept{name, value})
		}
	}
	return out
}

// toForm sends a browser to the page of the link, so that a reload or a restored tab
// asks for a page that is there. The way is relative, since a host may have stripped a
// prefix.
func (f *forms) toForm(w http.ResponseWriter, token, query string) {
	w.Header().Set("Location", "../../s/"+url.PathEscape(token)+query)
	w.WriteHeader(http.StatusSeeOther)
}

// back is for a browser that comes back to where a form was sent.
func (f *forms) back(w http.ResponseWriter, r *http.Request) {
	f.toForm(w, r.PathValue("token"), f.query(r))
}

// unread answers what could not be read.
func (f *forms) unread(w http.ResponseWriter, r *http.Request, why *httpapi.Problem) {
	if wantsJSON(r) {
		httpapi.Refuse(w, why)
		return
	}
	f.show(w, r, why.Status, f.blank(r, StateUnread))
}

// taken is the answer to a response that was taken.
type taken struct {
	PublicID    string    `json:"publicId"`
	CompletedOn time.Time `json:"completedAt"`
}

func (f *forms) submitJSON(w http.ResponseWriter, r *http.Request, body []byte) {
	response, refused := readResponse(body)
	if refused != nil {
		f.unread(w, r, refused)
		return
	}
	response.IdempotencyKey, response.Address = r.Header.Get("Idempotency-Key"), f.o.Address(r)
	receipt, err := f.s.Submit(r.Context(), r.PathValue("token"), response)
	wrong := (*form.AnswersError)(nil)
	switch {
	case err == nil:
		httpapi.Reply(w, http.StatusOK, taken{receipt.PublicID, receipt.CompletedOn.UTC()})
	case errors.As(err, &wrong):
		httpapi.Refuse(w, wrongAnswers{
			Problem: httpapi.Problem{Status: http.StatusUnprocessableEntity, Title: "the answers do not fit the questions"},
			Errors:  wrong.Faults,
		})
	case errors.Is(err, survey.ErrTooMany):
		httpapi.Fail(w, http.StatusTooManyRequests, "too many responses came from here in this hour")
	case errors.Is(err, survey.ErrAnswered):
		httpapi.Fail(w, http.StatusConflict, "the survey has been answered before")
	case errors.Is(err, survey.ErrExpired):
		httpapi.Fail(w, http.StatusGone, "the time for answers is over")
	default:
		f.failed(w, r, "answers could not be stored", err)
	}
}

// readResponse reads the answers and who gave them when. What the answers say is
// for the domain to judge.
func readResponse(body []byte) (out survey.Response, refused *httpapi.Problem) {
	body, refused = checkJSON(body)
	if refused != nil {
		return out, refused
	}
	m, err := object(body, "the body", "answers", "meta")
	if err != nil {
		return out, unreadable(err.Error())
	}
	if m["answers"] == nil {
		return out, unreadable("answers are missing")
	}
	out.Answers = m["answers"]
	if m["meta"] == nil {
		return out, nil
	}
	meta, err := object(m["meta"], "meta", "agentId", "completedAt", "locale")
	if err == nil {
		out.AgentID, err = unquote(meta["agentId"], "meta.agentId")
	}
	if err == nil {
		out.Locale, err = unquote(meta["locale"], "meta.locale")
	}
	if err == nil {
		out.CompletedOn, err = moment(meta["completedAt"], "meta.completedAt")
	}
	if err != nil {
		return out, unreadable(err.Error())
	}
	return out, nil
}

// fieldName is the name of a question's control. The prefix keeps it apart from
// what else is in the form.
func fieldName(question string) string { return "q." + question }

// shownName is the control that says which conditional questions were shown.
const shownName = "shown"

// The controls that say which page of a form was shown, and which way to go from it.
const (
	pageName = "page"
	wayName  = "to"
	wayBack  = "back"
)

// answersOf are the answers of a form as a JSON object of texts and lists of texts,
// which [survey.Service.Submit] reads by the type of the question.
func answersOf(questions []form.Question, posted url.Values, locale string) (json.RawMessage, error) {
	out := map[string]any{}
	for _, q := range questions {
		given := posted[fieldName(q.ID)]
		switch {
		case len(given) == 0:
		case q.Type == form.MultipleQuestion:
			out[q.ID] = given
		case q.Type == form.RankingQuestion:
			out[q.ID] = ranked(q, given)
		case q.Type == form.NumberQuestion || q.Type.Rates():
			out[q.ID], _ = separatorsOf(locale).read(given[0])
		case q.Type == form.DateQuestion:
			out[q.ID] = strings.Map(plain, given[0])
		default:
			out[q.ID] = given[0]
		}
	}
	return json.Marshal(out)
}

// ranked are the options of a ranking in the order of their numbers. An option stands twice where
// a number does, which is no answer.
func ranked(q form.Question, numbers []string) []string {
	order := make([]string, len(q.Options)+1)
	for i, o := range q.Options {
		n := slices.Index(ranks(q), strings.Map(plain, at(numbers, i))) + 1
		switch {
		case n == 0: // it has none
		case order[n] != "":
			return []string{o.Value, o.Value}
		default:
			order[n] = o.Value
		}
	}
	return slices.DeleteFunc(order, func(value string) bool { return value == "" })
}

// ranks are the numbers that the options of a ranking may have.
func ranks(q form.Question) (out []string) {
	for i := range q.Options {
		out = append(out, strconv.Itoa(i+1))
	}
	return out
}
