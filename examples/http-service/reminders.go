package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// The events of a booking.
const (
	saved     = "booking.saved"
	cancelled = "booking.cancelled"
)

// remindBefore is how long before a booking its guest is reminded.
const remindBefore = 2 * time.Hour

// bookings says when to remind of a booking, and whom.
type bookings struct{ db *sql.DB }

func (bookings) EventTypes() []string { return []string{saved, cancelled} }

// Wanted is asked within the transaction of a change, where Data has the booking as that
// transaction left it, and without an event when a reminder is due. A cancelled booking
// asks for nothing, which ends its reminder.
func (b bookings) Wanted(ctx context.Context, of []automation.Request) ([]automation.Answer, error) {
	return automation.Each(of, func(r automation.Request) (automation.Answer, error) {
		if r.Event.Type == cancelled {
			return automation.Answer{}, nil
		}
		found, told := r.Event.Data.(booking)
		if !told {
			var err error
			if found, err = load(ctx, b.db, r.Source.ID); errors.Is(err, sql.ErrNoRows) {
				return automation.Answer{}, nil
			} else if err != nil {
				return automation.Answer{}, err
			}
		}
		return automation.Answer{Version: found.Version, Candidates: []automation.Candidate{{At: found.StartsOn, Before: remindBefore}}}, nil
	})
}

// Validate is asked when the reminder is due, and again before a mail that had
// to wait.
func (b bookings) Validate(ctx context.Context, d automation.Due) (automation.Validity, error) {
	_, err := load(ctx, b.db, d.Source.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return automation.NoLongerValid(""), nil
	}
	return automation.StillValid(), err
}

func (b bookings) Recipients(ctx context.Context, d automation.Due) ([]notify.Recipient, error) {
	found, err := load(ctx, b.db, d.Source.ID)
	if err != nil {
		return nil, err
	}
	return []notify.Recipient{{Ref: found.ID, Channel: "email:http", Address: found.Email}}, nil
}

// newReminders is all of Belfry that this service needs.
func newReminders(store storage.Store, db *sql.DB, mailer string) (*automation.Scheduler, *notify.Notifier) {
	out := notify.New(store, nil, channel.Func("email:http", func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
		return post(ctx, mailer, m)
	}))
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name: "booking", Stream: "booking", Zone: "Europe/Dublin", Triggers: bookings{db}, Validator: bookings{db}, Recipients: bookings{db},
		Template: notify.Template{Subject: "See you soon: booking {{.Source.ID}}", Text: "We look forward to your visit at {{.At.LocalTime}}."},
	})
	return reminders, out
}

// post hands a mail to a provider that takes JSON. Anything but a clear answer
// leaves the outcome unknown; a retry would not be safe.
func post(ctx context.Context, url string, m channel.Message) (channel.Receipt, error) {
	body, err := json.Marshal(map[string]string{"to": m.To, "subject": m.Subject, "text": m.Text})
	if err != nil {
		return channel.Receipt{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return channel.Receipt{}, err
	}
	req.GetBody = nil // the transport must not repeat a POST
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return channel.Receipt{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		return channel.Receipt{}, fmt.Errorf("the provider answers %s", resp.Status)
	}
	return channel.Receipt{ID: resp.Header.Get("Message-Id")}, nil
}
