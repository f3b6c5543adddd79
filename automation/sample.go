package automation

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/notify"
)

// everyField is what templates of reminders may name: that of each trigger at once.
var everyField = eventData{
	Source: Source{"employee", "7"}, TargetDate: Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30, Key: "reminder:…",
	At: sampleMoment, Occurrence: sampleMoment,
	thresholdData: &thresholdData{Metric: "bookings", Comparison: threshold.AtLeast, Value: "18", Reading: "19", Scope: defaultThresholdScope},
}

var sampleMoment = &occurrenceData{LocalDate: Date{Year: 2026, Month: 5, Day: 1}, LocalTime: "09:00", Zone: "UTC"}

// trySample renders the template of a type once, and logs if it names what no reminder
// has. That is a fault unless the Data of its recipients has it.
func (s *Scheduler) trySample(t *ReminderType) {
	data, err := json.Marshal(everyField)
	if err != nil {
		panic(err) // it consists of texts
	}
	job := notify.Job{Type: t.Name, EventData: data}
	job.Entries = []notify.Job{{Type: t.Name, EventData: data}}
	_, err = t.Template.Render(context.Background(), job, notify.Recipient{Ref: "sample", Channel: "email:sample", Name: "Sample"})
	if err == nil {
		return
	}
	var fields map[string]any
	_ = json.Unmarshal(data, &fields) // it was marshalled
	s.opts.Logger.Info("belfry: a template cannot be made of what reminders have; unless recipients' Data has it, no message of the type can be sent",
		"type", t.Name, "error", err, "fields", strings.Join(slices.Sorted(maps.Keys(fields)), " ")+" Recipient")
}
