package infobip

import (
	"errors"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/internal/rest"
)

// status is what Infobip says of a message in answers, logs and reports.
type status struct {
	GroupName rest.Text `json:"groupName"`
	Name      rest.Text `json:"name"`
}

// The groups of statuses.
const (
	pending       = "PENDING"
	delivered     = "DELIVERED"
	undeliverable = "UNDELIVERABLE"
	expired       = "EXPIRED"
	rejected      = "REJECTED"
)

// duplicate is the status of a second message with an id. It says nothing about
// the first one, under whose id it is reported.
const duplicate = "REJECTED_DUPLICATE_MESSAGE_ID"

// passing are the rejections that are not about the message.
var passing = map[rest.Text]bool{
	"REJECTED_NOT_ENOUGH_CREDITS":      true,
	"REJECTED_PREPAID_PACKAGE_EXPIRED": true,
	"REJECTED_FLOODING_FILTER":         true,
	"REJECTED_SYSTEM_ERROR":            true,
}

// sent is one message of an answer.
type sent struct {
	MessageID rest.Text `json:"messageId"`
	Status    status    `json:"status"`
}

var errNoMessage = errors.New("infobip: answer without a message")

// firstSent reads the answer, in which the message is either the only one of a
// list or all there is.
func firstSent(a *rest.Answer) (sent, error) {
	var body struct {
		Messages []sent `json:"messages"`
		sent
	}
	if err := a.JSON(&body); err != nil {
		return sent{}, err
	}
	if len(body.Messages) == 1 {
		return body.Messages[0], nil
	}
	if body.Status.GroupName == "" {
		return sent{}, errNoMessage
	}
	return body.sent, nil
}

// outcome is the error of an answer that has a status, or nil if it accepts.
func outcome(a *rest.Answer, s status) error {
	code := string(s.Name)
	switch s.GroupName {
	case pending, delivered:
		return nil
	case rejected, undeliverable, expired:
		if s.Name == duplicate {
			return a.Unknown(code)
		}
		if passing[s.Name] {
			return a.Transient(code)
		}
		return a.Permanent(code)
	}
	return a.Unknown(code)
}

// kinds are what the groups mean in a report.
var kinds = map[rest.Text]notify.StatusKind{
	pending:       notify.KindAccepted,
	delivered:     notify.KindDelivered,
	undeliverable: notify.KindFailed,
	expired:       notify.KindFailed,
	rejected:      notify.KindFailed,
}
