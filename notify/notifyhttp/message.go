package notifyhttp

import (
	"time"

	"github.com/belfry-go/belfry/notify"
)

// listing is a page of an inbox; Next goes into "after" of the next request.
type listing struct {
	Messages []message `json:"messages"`
	Next     string    `json:"next,omitempty"`
}

// message is an in-app message as a client sees it. HTML was made by the host's
// own templates; a client that shows it decides about scripts and pictures.
type message struct {
	ID      string    `json:"id"`
	Type    string    `json:"type"`
	Subject string    `json:"subject,omitempty"`
	Text    string    `json:"text,omitempty"`
	HTML    string    `json:"html,omitempty"`
	Locale  string    `json:"locale,omitempty"`
	Status  string    `json:"status"`
	On      time.Time `json:"on"`
}

func messageOf(m notify.UserMessage) message {
	return message{
		ID: m.RowKey, Type: m.Type, Subject: m.Content.Subject, Text: m.Content.Text, HTML: m.Content.HTML,
		Locale: m.Content.Locale, Status: m.Status, On: m.SourceOn,
	}
}
