package repotest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/tabletest"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/apns"
	"github.com/belfry-go/belfry/notify/channel/dialog360"
	"github.com/belfry-go/belfry/notify/channel/fcm"
	"github.com/belfry-go/belfry/notify/channel/file"
	"github.com/belfry-go/belfry/notify/channel/infobip"
	"github.com/belfry-go/belfry/notify/channel/postmark"
	"github.com/belfry-go/belfry/notify/channel/resend"
	"github.com/belfry-go/belfry/notify/channel/sendgrid"
	"github.com/belfry-go/belfry/notify/channel/slack"
	"github.com/belfry-go/belfry/notify/channel/slogchannel"
	"github.com/belfry-go/belfry/notify/channel/smtp"
	"github.com/belfry-go/belfry/notify/channel/telegram"
	"github.com/belfry-go/belfry/notify/channel/twilio"
	"github.com/belfry-go/belfry/notify/channel/webhook"
	"github.com/belfry-go/belfry/notify/channel/webpush"
)

// channels are all that there are, with the settings that they cannot do without.
func channels(t *testing.T) (all []channel.Channel) {
	const from, number = "office@school.example", "+4915112345678"
	add := func(c channel.Channel, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	add(resend.New("key", &resend.Options{From: from}))
	add(postmark.New("token", &postmark.Options{From: from, Batch: 500}))
	add(sendgrid.New("key", &sendgrid.Options{From: from}))
	add(elsewhere("email:ses"), nil)
	add(smtp.New("localhost", &smtp.Options{From: from, TLS: smtp.NoTLS}))
	add(twilio.NewSMS("AC"+strings.Repeat("0", 32), "secret", &twilio.Options{From: number, StatusCallback: "https://school.example/twilio"}))
	add(twilio.NewWhatsApp("AC"+strings.Repeat("0", 32), "secret", &twilio.Options{From: number, StatusCallback: "https://school.example/twilio"}))
	add(infobip.NewSMS("https://x.api.infobip.com", "key", &infobip.Options{From: number}))
	add(infobip.NewWhatsApp("https://x.api.infobip.com", "key", &infobip.Options{From: number}))
	add(dialog360.New("key", nil))
	add(fcm.New(serviceAccount(t), nil))
	add(apns.New("com.example.school", apns.Credentials{Certificate: new(tls.Certificate)}, nil))
	add(webpush.New("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94", "mailto:"+from, nil))
	add(slack.New("xoxb-token", nil))
	add(telegram.New("123456:"+strings.Repeat("a", 35), nil))
	add(webhook.New(&webhook.Options{Secrets: []string{"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}))
	add(file.New(t.TempDir(), nil), nil)
	add(slogchannel.New(nil, nil), nil)
	return all
}

// serviceAccount is the file of a Google service account.
func serviceAccount(t *testing.T) []byte {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	file, err := json.Marshal(map[string]string{"project_id": "school-app", "client_email": "belfry@school-app.example", "private_key": string(text)})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// elsewhere is a channel in a module of its own, which has a test of its line.
type elsewhere string

func (e elsewhere) Key() string { return string(e) }

func (elsewhere) Send(context.Context, channel.Message) (channel.Receipt, error) {
	return channel.Receipt{}, errors.New("it is elsewhere")
}

func TestTheTableOfChannelsIsPrintedFromWhatTheyDeclare(t *testing.T) {
	t.Parallel()
	const page = "../../docs/channels.md"
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(have), tabletest.Head)
	if !found {
		t.Fatal("the page has no such table")
	}
	printed, after, _ := strings.Cut(rest, "\n\n")
	table := tabletest.Head + "| --- | --- | --- | --- | --- |\n"
	for _, c := range channels(t) {
		if _, ok := c.(elsewhere); ok {
			table += regexp.MustCompile("(?m)^\\| `"+c.Key()+"` .*$").FindString(printed) + "\n"
			continue
		}
		table += tabletest.Row(c)
	}
	want := before + table + "\n" + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("run `go test ./internal/repotest -update`:\n%s", diff)
	}
}
