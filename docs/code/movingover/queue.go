package movingover

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/notify"
)

// enqueue is what was client.Enqueue with a TaskID: the row key says what makes it the
// same, for good and not for as long as a lock holds.
func (a *app) enqueue(ctx context.Context, id, person, email string, on time.Time) error {
	_, err := a.out.NotifyAt(ctx, notify.Job{
		Type: "receipt", RowKey: "receipt:" + id,
		Recipients: []notify.Recipient{{Ref: person, Channel: "email:sendgrid", Address: email}},
	}, on)
	return err
}
