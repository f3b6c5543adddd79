package surveyhttp

import (
	"errors"
	"net/http"
	"time"

	"github.com/belfry-go/belfry/survey"
)

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
	response.IdempotencyKey = r.Header.Get("Idempotency-Key")
	receipt, err := f.s.Submit(r.Context(), r.PathValue("token"), response)
	wrong := (*survey.AnswersError)(nil)
	switch {
	case err == nil:
		reply(w, http.StatusOK, taken{receipt.PublicID, receipt.CompletedOn.UTC()})
	case errors.As(err, &wrong):
		problem{Status: http.StatusUnprocessableEntity, Title: "the answers do not fit the questions", Errors: wrong.Faults}.write(w)
	case errors.Is(err, survey.ErrAnswered):
		problem{Status: http.StatusConflict, Title: "the survey has been answered before"}.write(w)
	default:
		f.failed(w, r, "answers could not be stored", err)
	}
}

// readResponse reads the answers and who gave them when. What the answers say is
// for the domain to judge.
func readResponse(body []byte) (out survey.Response, refused *refusal) {
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
	meta, err := object(m["meta"], "meta", "agentId", "completedAt")
	if err == nil {
		out.AgentID, err = unquote(meta["agentId"], "meta.agentId")
	}
	if err == nil {
		out.CompletedOn, err = moment(meta["completedAt"], "meta.completedAt")
	}
	if err != nil {
		return out, unreadable(err.Error())
	}
	return out, nil
}
