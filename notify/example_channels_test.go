package notify_test

import (
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/fcm"
	"github.com/belfry-go/belfry/notify/channel/resend"
	"github.com/belfry-go/belfry/notify/channel/slack"
	"github.com/belfry-go/belfry/notify/channel/twilio"
	"github.com/belfry-go/belfry/notify/channel/webhook"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// secrets are what a program reads from its environment.
type secrets struct {
	Resend, TwilioAccount, TwilioToken, Slack, Webhook string
	Firebase                                           []byte // the file of a service account's key
}

// everyKind is a notifier with a channel of each kind.
func everyKind(store storage.Store, s secrets) (*notify.Notifier, error) {
	mails, err1 := resend.New(s.Resend, &resend.Options{From: "School <office@school.example>"})
	texts, err2 := twilio.NewSMS(s.TwilioAccount, s.TwilioToken, &twilio.Options{From: "+15017122661"})
	devices, err3 := fcm.New(s.Firebase, nil)
	chats, err4 := slack.New(s.Slack, nil)
	hooks, err5 := webhook.New(&webhook.Options{Secrets: []string{s.Webhook}})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	return notify.New(store, nil, mails, texts, devices, chats, hooks), nil
}

// A channel is made from its secrets; what is wrong with them is said before anything is sent.
func Example_channels() {
	_, err := everyKind(memory.New(nil), secrets{Resend: "re_from-the-environment", Slack: "xoxb-from-the-environment", Webhook: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
	fmt.Println(err)
	// Output:
	// twilio: accountSID is not AC and 32 hex digits; secret is required
	// fcm: account is not JSON; account has no project_id; account has no client_email; account's private_key: it is not a PEM with a private key of RSA, 2048 bits or more, or of P-256
}
