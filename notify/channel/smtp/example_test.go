package smtp_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/smtp"
)

func ExampleNew() {
	mails, err := smtp.New("mail.example.com", &smtp.Options{
		From:     "School <office@school.example>",
		Username: "school",
		Password: "from the environment",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = mails.Close() }()
	fmt.Println(mails.Key()) // for notify.New(store, nil, mails)
	// Output: email:smtp
}

// Who is not reached after all is known by a report that comes back.
func ExampleReturnPath() {
	s := struct{ ReturnKey []byte }{[]byte("32 random bytes from the secrets")}
	mails, err := smtp.New("mail.example:587", &smtp.Options{
		From:       "School <office@school.example>",
		ReturnPath: &smtp.ReturnPath{Address: "bounces@mail.school.example", Key: s.ReturnKey},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = mails.Close() }()
	_, err = mails.Events(channel.WebhookRequest{Body: []byte("To: bounces@mail.school.example\r\n\r\nIt came back.\r\n")})
	fmt.Println(err) // such as Notifier.Bounced says of what is not a report about a mail of ours
	// Output: channel: webhook refused: smtp: the mail did not come to a return path of this key
}

func ExampleChannel_Send() {
	mails, err := smtp.New("127.0.0.1:1", &smtp.Options{From: "office@school.example", TLS: smtp.NoTLS})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = mails.Close() }()
	_, err = mails.Send(context.Background(), channel.Message{ // in earnest a Notifier does this
		ID: "5f1d", To: "sam@example.com", Subject: "Hello", On: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC),
	})
	var refused *channel.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Class, refused.Code) // nobody listens there
	}
	// Output: Transient dial
}

func ExampleError() {
	err := error(channel.Permanent("550 5.1.1", &smtp.Error{Step: "RCPT", Code: 550, Enhanced: "5.1.1"}))
	var cause *smtp.Error
	if errors.As(err, &cause) {
		fmt.Println(cause.Step, cause.Code, cause.Enhanced)
	}
	// Output: RCPT 550 5.1.1
}
