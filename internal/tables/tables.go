// Package tables lists the tables of all domains, for who goes through all that a database
// has.
package tables

import (
	"slices"
	"strings"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/internal/once"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/unserved"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/notify/templates"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

// All are those of the store and of the domains, each once, by name.
func All() []*driver.Schema {
	all := slices.Concat(driver.Schemas(), notify.Schemas(), gate.Schemas(), templates.Schemas(), automation.Schemas(), settings.Schemas(),
		report.Schemas(), outbox.Schemas(), survey.Schemas(), sweep.Schemas(), unserved.Schemas(), once.Schemas())
	slices.SortFunc(all, func(a, b *driver.Schema) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b *driver.Schema) bool { return a.Name == b.Name })
}
