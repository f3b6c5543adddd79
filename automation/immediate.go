package automation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/driver"
)

// Immediate is a notification about an event itself, not scheduled ahead. It is
// made once for each event id and notification type, however often the event is
// delivered; the first one stands.
//
//spec:a-070
type Immediate struct {
	// Type is the notification type; default that of the reminder type whose
	// provider asks for it.
	Type         string
	BusinessUnit string
	// Recipients are those to tell; none leaves it to the subscribers of the
	// notification type.
	Recipients []notify.Recipient
	// Data is what the renderer works on, as JSON of at most notify.MaxEventData
	// bytes; default {"Source":{"Type","ID"},"Event":{"Type","ID"}}.
	Data any
	// On is when to send; zero means at once.
	On time.Time
	// Lane is storage.LaneNormal unless set.
	Lane int16
}

// immediates asks the providers and builds what they want.
func (s planner) immediates(ctx context.Context, e Event, names []string) (Artifacts, error) {
	var out Artifacts
	for _, name := range names {
		t, _ := s.registry.reminder(name)
		wanted, err := t.Immediate.Notifications(ctx, e)
		if err != nil {
			return Artifacts{}, fmt.Errorf("automation: immediate notifications of %s: %w", name, err)
		}
		for i, n := range wanted {
			if n.Type == "" {
				n.Type = t.notificationType()
			}
			job, err := n.job(e)
			if err != nil {
				return Artifacts{}, fmt.Errorf("automation: immediate notification %d of %s: %w", i, name, err)
			}
			out.Jobs = append(out.Jobs, job)
			out.Schedules = append(out.Schedules, notify.ScheduleFor(job, driver.Time(n.On)))
		}
	}
	return out, nil
}

func (n Immediate) job(e Event) (notify.Job, error) {
	row, err := keys.NotificationEvent{
		EntityType: e.Source.Type, Entity: e.Source.ID, EventType: e.Type, EventID: e.ID, NotificationType: n.Type,
	}.Key()
	if err != nil {
		return notify.Job{}, err
	}
	data := n.Data
	if data == nil {
		data = map[string]any{"Source": e.Source, "Event": map[string]string{"Type": e.Type, "ID": e.ID}}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return notify.Job{}, err
	}
	return notify.Job{
		Scope: e.Scope, Type: n.Type, Lane: n.Lane,
		PartitionKey: e.Source.ID, RowKey: row, BusinessUnit: n.BusinessUnit,
		EntityType: e.Source.Type, Entity: e.Source.ID, EventData: text, Recipients: n.Recipients,
		InputHash: keys.Input{
			BusinessUnit: n.BusinessUnit, SourceType: e.Source.Type, Source: e.Source.ID,
			Setting: n.Type, TriggerType: "Event", TriggerKey: e.Type, Identity: map[string]string{"event": e.ID},
		}.Hash(),
	}, nil
}
