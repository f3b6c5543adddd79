package settings

import (
	"fmt"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
)

// Threshold is a condition on a metric of a source (Automation & Reminders, "Two
// trigger types").
type Threshold struct {
	// Metric names what is measured, such as "occupancy".
	Metric string
	// Comparison says on which side of Value the condition is met.
	Comparison automation.Comparison
	// Value is a decimal, as people write it.
	Value string
	// Policy says how often a condition that is met fires.
	Policy keys.FiringPolicy
}

// thresholds checks conditions. Two that would have the same key in every scope
// are the same.
func (f *faults) thresholds(all []Threshold) {
	canonical := make([]Threshold, len(all))
	for i, t := range all {
		at := fmt.Sprintf("Thresholds[%d].", i)
		f.Part(at+"Metric", t.Metric)
		switch t.Comparison {
		case automation.AtLeast, automation.MoreThan, automation.AtMost, automation.LessThan:
		default:
			f.Add(at+"Comparison", "%.40q is not one of AtLeast, MoreThan, AtMost, LessThan", string(t.Comparison))
		}
		value, err := keys.Decimal(t.Value)
		if err != nil {
			f.Add(at+"Value", "%.40q is not a decimal number", t.Value)
			value = t.Value
		}
		switch t.Policy {
		case keys.OncePerSource, keys.OncePerThreshold, keys.OncePerDay, keys.FalseToTrue:
		default:
			f.Add(at+"Policy", "%.40q is not one of OncePerSource, OncePerThreshold, OncePerDay, FalseToTrue", string(t.Policy))
		}
		canonical[i] = Threshold{Metric: t.Metric, Value: value, Policy: t.Policy}
	}
	list(f, "Thresholds", canonical, maxList)
}
