package survey_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// A response becomes a complaint ticket, where its trigger routes it so, and is
// exported. Whoever submits it again gets the first receipt.
func ExampleService_Complete() {
	ctx, clk := context.Background(), clock.NewMock()
	clk.Set(time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	s := survey.New(store, nil, &survey.Options{ExpectedSubscribers: []string{"bi"}}) // another program's
	s.Subscribe(survey.SubscriberFunc("tickets", func(_ context.Context, e survey.ResponseCompleted) error {
		var answers map[string]any
		err := json.Unmarshal(e.Answers, &answers)
		fmt.Println("ticket for", e.CustomerRef+":", answers["complaint"])
		return err
	}))
	must(s.Publish(ctx, survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(tickets)}))
	report := must(s.Ingest(ctx, survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
		Payload:   json.RawMessage(visit),
		Recipient: survey.Recipient{Address: "+964 770 000 0001", Locale: "ar", CustomerRef: "cust-123"},
	}}}))
	publicID := report.Items[0].Instances[0].PublicID

	// The form is the host's own here; behind a link it is Submit.
	_, err := s.Complete(ctx, "", publicID, survey.Response{Answers: json.RawMessage(`{"rate": 11, "colour": "red"}`)})
	var faults *form.AnswersError
	if errors.As(err, &faults) {
		for _, f := range faults.Faults {
			fmt.Println(f.QuestionID, f.Code)
		}
	}
	response := survey.Response{Answers: json.RawMessage(`{"rate": 3, "has-a-complaint": "yes", "complaint": "It was late."}`)}
	fmt.Println("repeated:", must(s.Complete(ctx, "", publicID, response)).Repeated)
	fmt.Println("repeated:", must(s.Complete(ctx, "", publicID, response)).Repeated)

	if err := belfry.NewPoller(store, nil, s).Drain(ctx); err != nil {
		fmt.Println(err)
	}
	for _, d := range must(s.Support().Event(ctx, "", publicID)).Deliveries {
		fmt.Println(d.Subscriber, d.Status)
	}
	var export bytes.Buffer
	must(s.Responses().ExportCSV(ctx, "", &export, survey.ResponseQuery{SurveyID: 4523}, nil))
	line := strings.Split(export.String(), "\r\n")[1]
	fmt.Println(strings.Replace(line, publicID, "8f3a1c4e-…", 1))
	// Output:
	// colour unknown
	// rate max
	// has-a-complaint required
	// repeated: false
	// repeated: true
	// ticket for cust-123: It was late.
	// bi Pending
	// tickets Dispatched
	// 8f3a1c4e-…,4523,1,csi-gr-trigger,,cust-123,,,2026-05-14T05:12:34Z,2026-05-14T05:12:34Z,3,yes,It was late.
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// The Notifier that sends links has their channels, gates and keys.
func ExampleOptions() {
	store, hashKey, linkKey, lastYears := memory.New(nil), make([]byte, 32), make([]byte, 32), make([]byte, 32)
	texts := channel.Func("sms:twilio", func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil })
	out := notify.New(store, &notify.Options{
		HashKey: hashKey,
		Gates: gate.New(store, &gate.Options{
			Caps:   []gate.Cap{{Limit: 2, Per: 24 * time.Hour}},
			Window: &gate.Window{From: "09:00", To: "20:00", Zone: "Asia/Baghdad"},
		}),
	}, texts)
	surveys := survey.New(store, out, &survey.Options{
		SurveyURL: "https://visits.example/s/{token}",
		LinkKey:   linkKey, OldLinkKeys: [][]byte{lastYears},
	})
	fmt.Println(len(surveys.Passes()))
	// Output: 3
}

// closeVisit is a host's own transaction: the visit is closed and its customer will
// be asked, or neither.
func closeVisit(ctx context.Context, store *sqlite.Store, surveys *survey.Service, wip string) error {
	return store.InHostTx(ctx, func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE visit SET closed = 1 WHERE wip = ?", wip); err != nil {
			return err
		}
		report, err := surveys.WithTx(bound).Ingest(ctx, closed())
		if err != nil {
			return err
		}
		if report.Failed > 0 {
			return fmt.Errorf("visit %s: %v", wip, report.Items)
		}
		return nil
	})
}

func ExampleService_WithTx() {
	dir := must(os.MkdirTemp("", "belfry"))
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	store := must(sqlite.Open(ctx, filepath.Join(dir, "visits.db"), nil))
	defer store.Close()
	must[sql.Result](store.DB().ExecContext(ctx, "CREATE TABLE visit (wip TEXT PRIMARY KEY, closed INTEGER)"))
	surveys := survey.New(store, nil, nil)
	must(surveys.Publish(ctx, survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(csiGR)}))
	fmt.Println(closeVisit(ctx, store, surveys, "40956"))
	links, _, err := surveys.Support().Instances(ctx, "", survey.Selection{SurveyID: 4523}, storage.Page{})
	fmt.Println(len(links), err)
	// Output:
	// <nil>
	// 1 <nil>
}

// answeredOnce is a program with one response, whose event is for subscribers that are
// registered.
func answeredOnce(subscribers ...survey.Subscriber) (storage.Store, *survey.Service) {
	ctx, clk := context.Background(), clock.NewMock()
	clk.Set(start)
	store := memory.New(&memory.Options{Clock: clk})
	surveys := survey.New(store, nil, nil)
	surveys.Subscribe(subscribers...)
	must(surveys.Publish(ctx, survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(csiGR)}))
	publicID := must(surveys.Ingest(ctx, closed())).Items[0].Instances[0].PublicID
	must(surveys.Complete(ctx, "", publicID, survey.Response{Answers: json.RawMessage(content)}))
	return store, surveys
}

// A subscriber that was added later gets the responses from before by a replay.
func ExampleSupport_ReplayMissed() {
	ctx := context.Background()
	store, surveys := answeredOnce()
	surveys.Subscribe(survey.SubscriberFunc("bi", func(_ context.Context, e survey.ResponseCompleted) error {
		fmt.Println("bi has", string(e.Answers))
		return nil
	}))
	by := survey.By{Actor: "sam", Reason: "the warehouse is new"}
	n, err := surveys.Support().ReplayMissed(ctx, "", "bi", survey.ResponseQuery{SurveyID: 4523}, by, &survey.ActionOptions{DryRun: true}) // a dry run
	fmt.Println(n, err)
	n, err = surveys.Support().ReplayMissed(ctx, "", "bi", survey.ResponseQuery{SurveyID: 4523}, by, nil)
	fmt.Println(n, err)
	fmt.Println(belfry.NewPoller(store, nil, surveys).Drain(ctx))
	// Output:
	// 1 <nil>
	// 1 <nil>
	// bi has {"has-a-complaint":"no","rate":9}
	// <nil>
}

// What a subscriber refuses is a dead letter, which somebody looks at and replays.
func ExampleSupport_DeadLetters() {
	ctx, broken := context.Background(), true
	store, surveys := answeredOnce(survey.SubscriberFunc("tickets", func(context.Context, survey.ResponseCompleted) error {
		if broken {
			return survey.Permanent(errors.New("no such project"))
		}
		return nil
	}))
	poller := belfry.NewPoller(store, nil, surveys)
	orPanicked(poller.Drain(ctx))
	letters, _, err := surveys.Support().DeadLetters(ctx, "", "tickets", storage.Page{})
	fmt.Println(len(letters), letters[0].LastError, err)

	broken = false
	by := survey.By{Actor: "sam", Reason: "the project is there"}
	n, err := surveys.Support().ReplayDeadLetters(ctx, "", "tickets", by, nil)
	fmt.Println(n, err)
	orPanicked(poller.Drain(ctx))
	letters, _, err = surveys.Support().DeadLetters(ctx, "", "tickets", storage.Page{})
	fmt.Println(len(letters), err)
	// Output:
	// 1 no such project <nil>
	// 1 <nil>
	// 0 <nil>
}

// What the other system knows a response by is kept with the call.
func ExampleNoteMessageID() {
	ctx := context.Background()
	store, surveys := answeredOnce(survey.SubscriberFunc("tickets", func(ctx context.Context, _ survey.ResponseCompleted) error {
		survey.NoteMessageID(ctx, "T-4711")
		return nil
	}))
	orPanicked(belfry.NewPoller(store, nil, surveys).Drain(ctx))
	events, _, err := surveys.Support().Events(ctx, "", survey.ResponseQuery{SurveyID: 4523})
	for _, c := range events[0].Deliveries[0].Calls {
		fmt.Println(c.MessageID, err)
	}
	// Output:
	// T-4711 <nil>
}

func orPanicked(err error) {
	if err != nil {
		panic(err)
	}
}
