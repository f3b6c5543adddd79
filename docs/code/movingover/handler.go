package movingover

import (
	"context"
	"database/sql"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/sendgrid"
	"github.com/belfry-go/belfry/storage"
)

// newNotifier says once, at the start, by which channel, and what the mails say.
func newNotifier(store storage.Store, key string, opts *sendgrid.Options) (*notify.Notifier, error) {
	mail, err := sendgrid.New(key, opts)
	if err != nil {
		return nil, err
	}
	out := notify.New(store, nil, mail)
	out.Register(notify.Type{Name: "receipt", Renderer: notify.Template{Subject: "We have your order"}, InDoubt: notify.Hold})
	return out, nil
}

// takeOrder is the handler: the mail's row commits with the order, and a poller calls
// SendGrid after it.
func (a *app) takeOrder(ctx context.Context, id, email string) error {
	return a.store.InHostTx(ctx, func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO purchase VALUES (?)", id); err != nil {
			return err
		}
		_, err := a.out.WithTx(bound).Notify(ctx, notify.Job{
			Type: "receipt", RowKey: "receipt:" + id,
			Recipients: []notify.Recipient{{Ref: email, Channel: "email:sendgrid", Address: email}},
		})
		return err
	})
}
