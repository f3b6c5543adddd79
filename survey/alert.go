package survey

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// AlertOptions say who is told of an unhappy response.
type AlertOptions struct {
	// Key is that of the subscriber; empty: "alert".
	Key string
	// Channel sends the alert; required.
	Channel channel.Channel
	// To is the address that gets it, as the channel takes it; required.
	To string
	// URL is where a response is handled, such as
	// "https://desk.example/support/story?key={publicId}"; empty: the alert names none.
	URL string
}

// Alert makes a subscriber that tells a desk of each response that its version calls
// [form.Definition.Unhappy], as soon as a poll finds it: the survey, the score and the URL, and
// nothing of the customer.
// It is silent about what was handled or erased meanwhile. A call that failed or is in doubt
// is made again like that of every subscriber, with the same message id. A trigger that names
// subscribers has to name this one. It panics on options that no program can mean.
func (s *Service) Alert(o AlertOptions) Subscriber {
	if o.Key == "" {
		o.Key = "alert"
	}
	if o.Channel == nil {
		panic("survey: Alert needs a channel")
	}
	to, err := channel.NormaliseAddress(channel.Method(o.Channel.Key()), o.To)
	if err != nil {
		panic("survey: Alert: To is not an address of its channel")
	}
	o.To = to
	return SubscriberFunc(o.Key, func(ctx context.Context, e ResponseCompleted) error { return s.alert(ctx, &o, e) })
}

func (s *Service) alert(ctx context.Context, o *AlertOptions, e ResponseCompleted) error {
	item, err := s.Support().Work(ctx, e.Scope, e.InstancePublicID)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !item.HandledOn.IsZero() || !item.Unhappy:
		return nil
	}
	receipt, err := o.Channel.Send(ctx, o.message(&item, e))
	if err == nil {
		NoteMessageID(ctx, receipt.ID)
		return nil
	}
	failed := channel.Classify(err)
	err = fmt.Errorf("alert: %s", failed.Code) // what else it says may be an address
	switch {
	case failed.Class == channel.ClassPermanent && !failed.Fault.IsOutage():
		return Permanent(err)
	case failed.RetryAfter > 0:
		return RetryAfter(failed.RetryAfter, err)
	}
	return err
}

// message is the alert of a response.
func (o *AlertOptions) message(item *WorkItem, e ResponseCompleted) channel.Message {
	survey := strconv.FormatInt(item.SurveyID, 10)
	subject := item.Survey + ": an unhappy response"
	if item.Rated {
		subject += fmt.Sprintf(", score %d out of 100", item.Score)
	}
	text := "A response to " + subject + "."
	if o.URL != "" {
		text += "\n" + strings.NewReplacer("{surveyId}", survey, "{publicId}", item.PublicID).Replace(o.URL)
	}
	return channel.Message{
		ID: o.Key + "-" + item.PublicID, Channel: o.Channel.Key(), To: o.To, Attempt: 1, On: driver.Time(e.DispatchedOn),
		Subject: subject, Text: text,
		Metadata: map[string]string{"publicId": item.PublicID, "surveyId": survey},
	}
}
