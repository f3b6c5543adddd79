package survey

import (
	"context"
	"errors"
	"strings"

	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// mails is the method of channels whose messages say how to unsubscribe: other methods
// have ways of their own, and no room for a second link.
const mails = "email"

// checkUnsubscribeURL refuses a template that no mail program would follow.
func checkUnsubscribeURL(template string) error {
	if !strings.HasPrefix(template, "https://") {
		return errors.New("it is not an https address")
	}
	return checkSurveyURL(template)
}

// unsubscribeURL is where the recipient of a link can say that he wants no more; empty
// where there is no such page.
func (s *core) unsubscribeURL(r *instanceRow, token string) string {
	if s.options.UnsubscribeURL == "" || channel.Method(r.Channel) != mails {
		return ""
	}
	return surveyURL(s.options.UnsubscribeURL, token, r.PublicID)
}

// CheckUnsubscribe looks whether the customer of the link with that token can
// unsubscribe, and gives the locale that he reads; it may be empty. It changes nothing,
// since mail scanners open links. A token that is none, and one whose customer was
// erased or forgotten, is [ErrNoSurvey].
func (s *Service) CheckUnsubscribe(ctx context.Context, token string) (locale string, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		row, err := leaver(ctx, from, token)
		if err == nil {
			locale = row.RecipientLocale
		}
		return err
	})
	return locale, err
}

// Unsubscribe notes that the customer of the link with that token wants no more links by
// the method that it came by: none of Options.Group, or of any survey. That is a
// preference as package notify has it, of the customer and of the address, which sends and
// reminders from then on are asked about. It holds whatever became of the link, and may be
// repeated. The error is that of CheckUnsubscribe, and [notify.ErrHashKey] for a customer
// without a CustomerRef where the Notifier has another HashKey than those who send.
func (s *Service) Unsubscribe(ctx context.Context, token string) error {
	return s.inTx(ctx, func(tx storage.Tx) error {
		row, err := leaver(ctx, tx, token)
		if err != nil {
			return err
		}
		return s.out.OptOut(ctx, tx, owned.Leaver{
			Scope: row.Scope, Type: NotificationType, Group: s.options.Group, Method: channel.Method(row.Channel), Ref: row.CustomerRef, Address: addressOf(row),
			MessageID: row.FirstMessage,
		})
	})
}

// leaver is the link of a token, if it is still known whose it is.
func leaver(ctx context.Context, from driver.Reader, token string) (*instanceRow, error) {
	row, err := byToken(token)(ctx, from)
	if err == nil && row.CustomerRef == "" && row.RecipientAddress == "" {
		err = ErrNoSurvey
	}
	return row, err
}
