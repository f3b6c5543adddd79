package storable

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/recur"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Fault is one problem.
type Fault struct {
	// Path is the field, such as "SendAt" or "Recipients[1].Inbox".
	Path    string
	Problem string
}

func (f Fault) String() string { return f.Path + ": " + f.Problem }

// Faults lists all problems, in the order in which they were found.
type Faults []Fault

func (f Faults) String() string {
	texts := make([]string, len(f))
	for i, one := range f {
		texts[i] = one.String()
	}
	return strings.Join(texts, "; ")
}

// Add adds a fault.
func (f *Faults) Add(path, format string, args ...any) {
	*f = append(*f, Fault{path, fmt.Sprintf(format, args...)})
}

// Has reports whether one of those fields has a fault.
func (f Faults) Has(paths ...string) bool {
	return slices.ContainsFunc(f, func(one Fault) bool { return slices.Contains(paths, one.Path) })
}

// Because adds err, if there is one.
func (f *Faults) Because(path string, err error) {
	if err != nil {
		f.Add(path, "%v", err)
	}
}

// Part checks what becomes a component of keys.
func (f *Faults) Part(path, text string) {
	_, err := keys.Host{Type: text, SourceType: "x", Source: "x", TriggerKey: "x"}.Key()
	var refused *keys.PartError
	if errors.As(err, &refused) {
		f.Add(path, "%s", refused.Problem)
	}
}

// Optional checks a component that may be empty.
func (f *Faults) Optional(path, text string) {
	if text != "" {
		f.Part(path, text)
	}
}

// Scope checks the field of that name.
func (f *Faults) Scope(scope storage.Scope) {
	f.Optional("Scope", string(scope))
}

// Cadence checks the field of that name as far as its parts alone tell; whether
// anything happens by it, [recur.Parse] says.
func (f *Faults) Cadence(c recur.Spec) {
	switch {
	case c.Cron != "" && c.RRule != "":
		f.Add("Cadence", "has both Cron and RRule")
	case c.Cron == "" && c.RRule == "":
		f.Add("Cadence", "needs Cron or RRule")
	case c.RRule != "" && c.Start.IsZero():
		f.Add("Cadence.Start", "is required with RRule, which counts from it")
	}
	if !c.Start.IsZero() && !c.Start.Valid() {
		f.Add("Cadence.Start", "%s does not exist", c.Start)
	}
	switch {
	case c.End.IsZero():
	case !c.End.Valid():
		f.Add("Cadence.End", "%s does not exist", c.End)
	case c.End.Before(c.Start):
		f.Add("Cadence.End", "%s is before Start", c.End)
	}
}
