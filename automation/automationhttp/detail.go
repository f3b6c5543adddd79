package automationhttp

import (
	"net/http"
	"time"

	"github.com/belfry-go/belfry/automation"
)

// detail is a run with its story. Explanation tells all of it to people.
type detail struct {
	Run         run          `json:"run"`
	History     []transition `json:"history"`
	Now         string       `json:"now"`
	Explanation string       `json:"explanation"`
}

// transition is one thing that happened to a run.
type transition struct {
	On     time.Time `json:"on"`
	Action string    `json:"action"`
	Actor  string    `json:"actor,omitempty"`
	Reason string    `json:"reason,omitempty"`
	From   string    `json:"from,omitempty"`
	To     string    `json:"to,omitempty"`
}

func historyOf(all []automation.Transition) []transition {
	out := make([]transition, len(all))
	for i, t := range all {
		out[i] = transition{On: t.On.UTC(), Action: string(t.Action), Actor: t.Actor, Reason: t.Reason, From: t.From, To: t.To}
	}
	return out
}

func (a *api) detail(w http.ResponseWriter, r *http.Request, c Caller) {
	key, ok := a.key(w, r)
	if !ok {
		return
	}
	found, err := a.s.Run(r.Context(), c.Scope, key)
	if err != nil {
		a.refuse(w, r, "a run of a report could not be read", err, problem{})
		return
	}
	reply(w, http.StatusOK, detail{
		Run: runOf(found.RunState), History: historyOf(found.Story.History), Now: found.Story.Now, Explanation: found.Story.String(),
	})
}

// key is that of the run in the address. It answers for itself unless it is true.
func (a *api) key(w http.ResponseWriter, r *http.Request) (string, bool) {
	key, ok := keyOf(r.PathValue("guid"), r.PathValue("run"))
	if !ok {
		problem{Status: http.StatusNotFound, Title: "there is no such subscription or run"}.write(w)
	}
	return key, ok
}
