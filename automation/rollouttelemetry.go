package automation

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// rolledOut counts a run that the due pass settled under the guard. It is told
// inside the transaction, so one that runs again counts again.
func (t *telemetry) rolledOut(ctx context.Context, o *ownership, conflict bool, now time.Time) {
	outcome := o.Status
	switch {
	case conflict:
		outcome = "Conflict"
	case o.Owner == OldScheduler:
		outcome = string(Shadow)
	}
	t.stageRun(ctx, o.Stage, outcome)
	if outcome == OwnershipDeliveryCreated {
		t.rolloutLatency.Record(ctx, now.Sub(o.ScheduledOn).Seconds(), metric.WithAttributes(attribute.Int("stage", int(o.Stage))))
	}
}

func (t *telemetry) stageRun(ctx context.Context, stage Stage, outcome string) {
	t.rolloutRuns.Add(ctx, 1, metric.WithAttributes(attribute.Int("stage", int(stage)), attribute.String("outcome", outcome)))
}
