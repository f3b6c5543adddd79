package surveyhttp

import "net/http"

// ticked is the answer of one tick (Triggers & Scheduler, "PollOnceAsync").
type ticked struct {
	Processed int `json:"processed"`
}

func (a *api) tick(w http.ResponseWriter, r *http.Request, _ Caller) {
	report, err := a.s.PollOnce(r.Context(), a.batch)
	if err != nil {
		a.unavailable(w, r, "a tick failed", err)
		return
	}
	reply(w, http.StatusOK, ticked{report.Processed})
}
