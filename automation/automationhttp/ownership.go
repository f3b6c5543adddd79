package automationhttp

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/belfry-go/belfry/automation"
)

// ownership says which side delivers a run (Report Subscription, "One-Owner
// Guard").
type ownership struct {
	Key         string          `json:"schedulerKey"`
	Owner       string          `json:"owner"`
	Version     int64           `json:"ownerVersion"`
	Status      string          `json:"status"`
	Coordinates json.RawMessage `json:"coordinates,omitempty"`
	ScheduledOn time.Time       `json:"scheduledOn,omitzero"`
	OldRanOn    time.Time       `json:"oldRanOn,omitzero"`
	EndedOn     time.Time       `json:"endedOn,omitzero"`
	Stage       *int            `json:"stage,omitempty"`
}

func ownershipOf(o automation.Ownership) ownership {
	out := ownership{
		Key: o.Key, Owner: string(o.Owner), Version: o.Version, Status: o.Status, Coordinates: o.Coordinates,
		ScheduledOn: o.ScheduledOn.UTC(), OldRanOn: o.OldRanOn.UTC(), EndedOn: o.EndedOn.UTC(),
	}
	if stage := int(o.Stage); !o.EndedOn.IsZero() {
		out.Stage = &stage
	}
	return out
}

func (a *api) ownership(w http.ResponseWriter, r *http.Request, c Caller) {
	key, ok := a.key(w, r)
	if !ok {
		return
	}
	found, err := a.s.Ownership(r.Context(), c.Scope, key)
	if err != nil {
		a.refuse(w, r, "the owner of a run could not be read", err, problem{})
		return
	}
	reply(w, http.StatusOK, ownershipOf(found))
}
