package canarytest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/apns"
	"github.com/belfry-go/belfry/notify/channel/dialog360"
	"github.com/belfry-go/belfry/notify/channel/fcm"
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
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// What is planted. Whatever is personal or secret holds one of them.
const (
	canary      = "zinnober" // no file and no function has that name
	phoneDigits = "4915199887766"
	address     = "zinnober-address@zinnober.example"
	secret      = "zinnober-secret-zinnober-secret-0123456789"
)

// story is a host at which everything fails that can.
type story struct {
	t         *testing.T
	ears      *ears
	clk       *clock.Mock
	unkind    *unkind
	out       *notify.Notifier
	reminders *automation.Scheduler
	surveys   *survey.Service
	poller    *belfry.Poller
	webhooks  []channel.Webhook
}

// I-29: reminders, messages and surveys through all channels, whose providers refuse
// in every way and repeat what they were told, with renderers, gates, validators and
// subscribers that fail and panic, callbacks that are forged, and requests that are
// not allowed. No address, name, text or secret is in a log, a metric, a span, an
// error or an answer.
func TestI29_NothingPersonalIsInLogsMetricsTracesOrErrors(t *testing.T) {
	t.Parallel()
	s := &story{t: t, ears: &ears{said: map[string][]string{}}, clk: clock.NewMock(), unkind: newUnkind(t)}
	s.clk.Set(storetest.Start)
	s.open(memory.New(&memory.Options{Clock: s.clk}))
	s.want()
	s.refuse()
	for range 12 {
		s.ears.failed(s.poller.Drain(t.Context()))
		s.call()
		s.clk.Add(90 * time.Minute)
	}
	if s.unkind.told.Load() < 20 {
		t.Errorf("providers were told %d times", s.unkind.told.Load())
	}
	for _, where := range []string{"log", "metric", "span", "error", "answer"} {
		all, leaks := s.ears.heard(where)
		if all == 0 {
			t.Errorf("nothing was heard by %s", where)
		}
		t.Logf("%s: %d", where, all)
		for _, leak := range leaks {
			t.Errorf("%s: %s", where, leak)
		}
	}
}

// overheard keeps the errors of a channel.
type overheard struct {
	channel.Channel
	ears *ears
}

func (o overheard) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	r, err := o.Channel.Send(ctx, m)
	o.ears.failed(err)
	return r, err
}

func (s *story) channels() []channel.Channel {
	var all []channel.Channel
	add := func(c channel.Channel, err error) {
		if err != nil {
			s.t.Fatal(err)
		}
		if open, ok := c.(io.Closer); ok {
			s.t.Cleanup(func() { _ = open.Close() })
		}
		all = append(all, overheard{c, s.ears})
	}
	account, base := "AC"+strings.Repeat("0", 19)+phoneDigits, s.unkind.URL
	add(sendgrid.New(secret, &sendgrid.Options{From: "office@school.example", BaseURL: base}))
	add(resend.New(secret, &resend.Options{From: "office@school.example", BaseURL: base}))
	add(postmark.New(secret, &postmark.Options{From: "office@school.example", BaseURL: base}))
	add(twilio.NewSMS(account, secret, &twilio.Options{From: "+4915112345678", BaseURL: base}))
	add(infobip.NewSMS(base, secret, &infobip.Options{From: "+4915112345678", Key: "sms:infobip"}))
	add(dialog360.New(secret, &dialog360.Options{BaseURL: base}))
	add(slack.New(secret, &slack.Options{BaseURL: base}))
	add(telegram.New("123456:"+secret, &telegram.Options{BaseURL: base}))
	add(webhook.New(&webhook.Options{Secrets: []string{base64.StdEncoding.EncodeToString([]byte(secret))}, Trusted: []string{"127.0.0.1"}}))
	add(smtp.New(newPostOffice(s.t), &smtp.Options{From: "office@school.example", TLS: smtp.NoTLS}))
	add(slogchannel.New(s.ears.logger(), nil), nil)
	s.pushes(add)
	asked, err := infobip.NewWhatsApp(base, secret, &infobip.Options{From: "+4915112345678"}) // is asked about its doubts
	if err != nil {
		s.t.Fatal(err)
	}
	return append(all, asked,
		channel.Func("push:panics", func(_ context.Context, m channel.Message) (channel.Receipt, error) { panic(m.To) }),
		channel.Func("push:fails", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			return channel.Receipt{}, fmt.Errorf("no way to %s: %w", m.To, errors.New(m.Text))
		}))
}

// destinations are everybody's, one for each channel.
func (s *story) destinations() map[string]string {
	return map[string]string{
		"email:sendgrid": address, "email:resend": address, "email:postmark": address, "email:smtp": address, "email:slog": address,
		"sms:twilio": "+" + phoneDigits, "sms:infobip": "+" + phoneDigits,
		"whatsapp:dialog360": "+" + phoneDigits, "whatsapp:infobip": "+" + phoneDigits,
		"chat:slack": "C" + phoneDigits, "chat:telegram": phoneDigits,
		"webhook:standard": s.unkind.URL + "/zinnober?token=zinnober", "push:panics": "zinnober-device", "push:fails": "zinnober-device",
		"push:fcm": "zinnober-device", "push:apns": strings.Repeat(phoneDigits, 2) + phoneDigits[:6],
		"push:webpush": `{"endpoint":"` + s.unkind.URL + `/zinnober-push","keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"` + browserAuth + `"}}`,
	}
}

// open makes the host's program.
func (s *story) open(store storage.Store) {
	log, channels := s.ears.logger(), s.channels()
	gates := append(gate.New(store, nil), gate.Func(s.gate))
	s.out = notify.New(store, &notify.Options{Gates: gates, Logger: log}, channels...)
	s.out.Register(notify.Type{Name: "news", InDoubt: notify.Resend, Renderer: notify.Template{Subject: "{{.Recipient.Name}}", Text: "zinnober-text {{.Code}}"}})
	s.out.Register(notify.Type{Name: "fails", Renderer: notify.RendererFunc(func(_ context.Context, _ notify.Job, r notify.Recipient) (notify.Content, error) {
		return notify.Content{}, errors.New("no text for " + r.Address)
	})})
	s.out.Register(notify.Type{Name: "panics", Renderer: notify.RendererFunc(func(_ context.Context, _ notify.Job, r notify.Recipient) (notify.Content, error) {
		panic(r.Address)
	})})
	s.out.Subscribe(notify.StatusFunc("crm", func(context.Context, notify.StatusChange) error { return errors.New(address) }))
	s.reminders = automation.New(store, s.out, &automation.Options{Logger: log, MeterProvider: meters{e: s.ears}})
	s.remind("visit", func(automation.Due) error { return nil })
	s.remind("lost", func(automation.Due) error { return errors.New("nobody like " + address) })
	s.remind("broken", func(automation.Due) error { panic(address) })
	s.surveys = survey.New(store, s.out, &survey.Options{SurveyURL: "https://school.example/s/{token}", LinkKey: []byte(secret), Logger: log})
	s.surveys.Subscribe(survey.SubscriberFunc("bi", func(context.Context, survey.ResponseCompleted) error { panic(address) }))
	s.poller = belfry.NewPoller(store, &belfry.Options{Logger: log, MeterProvider: meters{e: s.ears}, TracerProvider: tracers{e: s.ears}}, s.reminders, s.out, s.surveys)
}

// gate fails and panics about a few, with what it knows.
func (s *story) gate(_ context.Context, a gate.Attempt) (gate.Verdict, error) {
	switch {
	case a.Method == "email" && a.Number == 1 && s.clk.Now().Sub(storetest.Start) < time.Hour:
		return gate.Verdict{}, errors.New("cannot tell about " + a.Address)
	case a.Method == "email" && s.clk.Now().Sub(storetest.Start) < 2*time.Hour:
		panic(a.Address)
	}
	return gate.Verdict{}, nil
}

func (s *story) remind(name string, fault func(automation.Due) error) {
	s.reminders.Register(automation.ReminderType{
		Name: name, Template: notify.Template{Subject: "zinnober-subject"},
		Validator: automation.ValidatorFunc(func(_ context.Context, d automation.Due) (automation.Validity, error) {
			return automation.StillValid(), fault(d)
		}),
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{s.person("email:sendgrid", address)}, nil
		}),
	})
}

func (s *story) person(channel, to string) notify.Recipient {
	return notify.Recipient{Ref: "sam", Channel: channel, Address: to, Name: "Zinnober Name", Locale: "en", Data: map[string]string{"Code": "zinnober-code"}}
}

// need stops at an error that the story has no use for.
func (s *story) need(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// want asks for reminders, messages by all channels, and surveys.
func (s *story) want() {
	ctx := s.t.Context()
	today := automation.Date{Year: 2026, Month: 3, Day: 1}
	for _, name := range []string{"visit", "lost", "broken"} {
		_, err := s.reminders.Ensure(ctx, automation.Candidate{Type: name, Source: automation.Source{Type: "car", ID: "7"}, TargetDate: today, SendAt: "08:00", Zone: "UTC"})
		s.need(err)
	}
	var people []notify.Recipient
	for channel, to := range s.destinations() {
		people = append(people, s.person(channel, to))
	}
	for _, name := range []string{"news", "fails", "panics"} {
		job := notify.Job{
			Type: name, PartitionKey: "car-7", RowKey: keys.AutomationRowKey(name + ":7"), EntityType: "car", Entity: "7",
			EventData: json.RawMessage(`{"Plate":"zinnober-plate"}`), Recipients: people, SourceKey: name + ":7", SourceOn: storetest.Start,
		}
		_, err := s.out.EnsureNotificationJob(ctx, nil, job)
		s.need(err)
		_, err = s.out.EnsureNotificationScheduler(ctx, nil, notify.ScheduleFor(job, time.Time{}))
		s.need(err)
		job.EventData = json.RawMessage(`{"Plate":"zinnober-other"}`)
		_, err = s.out.EnsureNotificationJob(ctx, nil, job)
		s.ears.failed(err) // a conflict
	}
	for channel, to := range s.destinations() {
		s.survey(channel, to)
	}
}

// survey invites one person by a channel.
func (s *story) survey(channel, to string) {
	kind := strings.ReplaceAll(channel, ":", "-")
	_, err := s.surveys.Publish(s.t.Context(), survey.Version{SurveyID: int64(len(kind)*1000) + int64(kind[len(kind)-1]) + int64(kind[0]), Name: kind, IntegrationID: kind, Definition: json.RawMessage(`{
		"questions": [{"id": "rate", "type": "rating", "min": 1, "max": 10, "required": true}],
		"triggers": [{"id": "visit", "enabled": true, "eventKind": "` + kind + `", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
			"schedule": {"initialDelay": "0d", "reminders": ["1h"]}, "channel": "` + channel + `"}]}`)})
	s.need(err)
	_, err = s.surveys.Ingest(s.t.Context(), survey.Batch{EventKind: kind, Items: []survey.Item{{
		Payload:   json.RawMessage(`{"wip":"7","CustomerName":"zinnober-customer"}`),
		Recipient: survey.Recipient{Address: to, Locale: "en"},
	}}})
	s.need(err)
}

// refuse says what is refused where it is said.
func (s *story) refuse() {
	ctx, by := s.t.Context(), notify.By{Actor: "ann", Reason: "a list"}
	bad := "zinnober\x1b@zinnober.example\r\n"
	s.ears.failed(s.out.Contacts().Suppress(ctx, "", channel.Complaint, by, notify.Destination{Method: "email", Address: bad}))
	_, err := s.out.Track(ctx, channel.StatusEvent{Provider: "x", EventID: address, Kind: "Burnt", MessageID: address})
	s.ears.failed(err)
	s.ears.failed(s.out.Contacts().Unsubscribe(ctx, "zinnober-token", notify.LeaveAll))
	_, err = s.surveys.Submit(ctx, "zinnober-token", survey.Response{Answers: json.RawMessage(`{"rate":"zinnober-answer"}`)})
	s.ears.failed(err)
	_, err = s.surveys.Ingest(ctx, survey.Batch{EventKind: "email-smtp", Items: []survey.Item{{Payload: json.RawMessage(`{"zinnober-field":`), Recipient: survey.Recipient{Address: bad}}}})
	s.ears.failed(err)
	_, err = sendgrid.New(secret+"\n", &sendgrid.Options{From: bad, BaseURL: "ftp://zinnober"})
	s.ears.failed(err)
	_, err = resend.New(secret+"\n", &resend.Options{From: bad, BaseURL: "ftp://zinnober"})
	s.ears.failed(err)
	_, err = resend.NewWebhook(secret)
	s.ears.failed(err)
	_, err = postmark.New(secret+"\n", &postmark.Options{From: bad, BaseURL: "ftp://zinnober"})
	s.ears.failed(err)
	_, err = postmark.NewWebhook(secret+"\n", "zinnober")
	s.ears.failed(err)
	_, err = twilio.NewSMS("zinnober", secret+"\r", &twilio.Options{From: bad})
	s.ears.failed(err)
	_, err = smtp.New("localhost", &smtp.Options{From: "office@school.example", Username: "zinnober", Password: secret + "\n", TLS: smtp.NoTLS})
	s.ears.failed(err)
	_, err = webhook.New(&webhook.Options{Secrets: []string{"whsec_" + secret}})
	s.ears.failed(err)
	_, err = fcm.New([]byte(`{"private_key":"`+secret+`"}`), &fcm.Options{BaseURL: "ftp://zinnober"})
	s.ears.failed(err)
	_, err = apns.New("zinnober topic", apns.Credentials{Key: []byte(secret), KeyID: "zinnober"}, &apns.Options{BaseURL: "ftp://zinnober"})
	s.ears.failed(err)
	_, err = webpush.New(secret, bad, nil)
	s.ears.failed(err)
	for name, make := range map[string]func() (channel.Webhook, error){
		"sendgrid": func() (channel.Webhook, error) {
			return sendgrid.NewWebhook("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==")
		},
		"resend": func() (channel.Webhook, error) {
			return resend.NewWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
		},
		"postmark": func() (channel.Webhook, error) { return postmark.NewWebhook("zinnober", "zinnober-zinnober") },
		"twilio":   func() (channel.Webhook, error) { return twilio.NewWebhook(secret) },
		"infobip": func() (channel.Webhook, error) {
			return infobip.NewWebhook(infobip.WebhookOptions{Username: "zinnober", Password: secret})
		},
		"dialog360": func() (channel.Webhook, error) { return dialog360.NewWebhook("X-Secret", secret) },
	} {
		w, err := make()
		if err != nil {
			s.t.Fatal(name, err)
		}
		s.webhooks = append(s.webhooks, w)
	}
	s.webhooks = append(s.webhooks, unreadable{})
}

// unreadable is a webhook that proves everything and understands nothing.
type unreadable struct{}

func (unreadable) Provider() string { return "own" }

func (unreadable) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	if r.Header.Get("X-Panic") != "" {
		panic(string(r.Body))
	}
	return nil, fmt.Errorf("cannot read %s", r.Body)
}

// call makes requests that are forged, or not allowed, to all handlers.
func (s *story) call() {
	log := s.ears.logger()
	deny := errors.New("not with " + secret)
	hooks := notifyhttp.Webhooks(s.out, &notifyhttp.WebhookOptions{Logger: log, MeterProvider: meters{e: s.ears}}, s.webhooks...)
	for _, w := range s.webhooks {
		s.request(hooks, "POST", "/"+w.Provider())
	}
	for path, h := range map[string]http.Handler{
		"/":                notifyhttp.Inbox(s.out, func(*http.Request) (notifyhttp.Caller, error) { return notifyhttp.Caller{}, deny }),
		"/zinnober-guid":   notifyhttp.Campaigns(s.out, func(*http.Request) (notifyhttp.Caller, error) { return notifyhttp.Caller{}, deny }),
		"/zinnober-token":  notifyhttp.Unsubscribe(s.out),
		"/s/zinnober-link": surveyhttp.Forms(s.surveys, &surveyhttp.FormOptions{Logger: log}),
		"/api/Surveys/Triggers/ingest": surveyhttp.API(s.surveys, func(*http.Request) (surveyhttp.Caller, error) {
			return surveyhttp.Caller{Ingest: true, Tick: true}, nil
		}, &surveyhttp.APIOptions{Logger: log}),
	} {
		s.request(h, "GET", path)
		s.request(h, "POST", path)
	}
}

// request sends a callback without a proof, as different providers would.
func (s *story) request(h http.Handler, method, path string) {
	for _, panics := range []string{"", "yes"} {
		form := url.Values{"To": {"+" + phoneDigits}, "Body": {"zinnober-body"}}.Encode()
		r := httptest.NewRequestWithContext(s.t.Context(), method, "https://school.example"+path+"?belfry_message=zinnober", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Twilio-Signature", "zinnober-signature")
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("zinnober:wrong")))
		r.Header.Set("X-Secret", secret+"-wrong")
		r.Header.Set("X-Panic", panics)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		s.ears.hear("answer", w.Code, w.Header(), w.Body.String())
	}
}
