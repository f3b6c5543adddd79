package survey

import (
	"time"

	"github.com/belfry-go/belfry/internal/unserved"
)

// unservedPass frees sends for channels that nobody has had for [Options.UnclaimedAfter]:
// without a kind they are claimed by any process, which stops them, or sends them if it
// has the channel after all. Its sends have one lane.
func (s *core) unservedPass() unserved.Pass {
	return unserved.Pass{
		Title: "survey.unserved", Store: s.store, After: s.options.UnclaimedAfter, Logger: s.options.Logger,
		Tables: []unserved.Watched{unserved.Table[instanceRow]{
			Rows: instances, Serves: s.channelKeys, Waiting: active,
			Stop: func(_ time.Time, r *instanceRow) { r.Kind, r.ReasonCode = "", ReasonNoChannel },
		}},
	}
}
