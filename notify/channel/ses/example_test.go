package ses_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/ses"
)

func ExampleNew() {
	// Stands in for SES; in earnest BaseURL is left out.
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL.Path, r.Header.Get("X-Amz-Date"))
		_, _ = io.WriteString(w, `{"MessageId":"m-1"}`)
	}))
	defer provider.Close()

	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { // in earnest those of the AWS SDK's config
		return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "from-the-environment"}, nil
	})
	mails, err := ses.New("eu-west-1", credentials, &ses.Options{From: "School <office@school.example>", ConfigurationSet: "belfry", BaseURL: provider.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = mails.Close() }()

	// In earnest notify.New(store, nil, mails) does this.
	receipt, err := mails.Send(context.Background(), channel.Message{ID: "5f1d", To: "sam@example.com", Subject: "Your certificate", Text: "It expires soon.",
		On: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)})
	fmt.Println(receipt.ID, err)
	// Output:
	// /v2/email/outbound-emails 20260301T080000Z
	// m-1 <nil>
}

// The webhook is mounted with notifyhttp.Webhooks, as "ses", and subscribed to the topic,
// which it confirms by itself.
func ExampleNewWebhook() {
	events, err := ses.NewWebhook("arn:aws:sns:eu-west-1:123456789012:mail-events")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = events.Close() }()
	fmt.Println(events.Provider())
	// Output: ses
}
