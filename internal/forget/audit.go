package forget

import (
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage/driver"
)

// Audit says how entries of the audit are forgotten, which all domains share: as old as
// the host says, whatever they tell of.
func Audit() Rule {
	return Of(Spec[audit.Entry]{
		Table: audit.Table, By: "Audit",
		Created: func(e *audit.Entry) time.Time { return e.On },
		Old:     func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("done_on", before)} },
	})
}
