package survey_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// A survey is published, corrected and withdrawn. Saying the same again changes
// nothing.
func ExampleService_Publish() {
	ctx, clk := context.Background(), clock.NewMock()
	clk.Set(time.Date(2026, 5, 14, 5, 0, 0, 0, time.UTC))
	s := survey.New(memory.New(&memory.Options{Clock: clk}), nil, nil)
	v := survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(`{
		"questions": [{"id": "rate", "type": "rating", "label": {"en": "How was it?", "ar": "كيف كان؟"}}],
		"triggers": [{
			"id": "visit", "enabled": true, "eventKind": "service-visit-closed",
			"dedupRecipe": ["templateId", "recipient.address"],
			"schedule": {"initialDelay": "1d12h", "reminders": ["1w"]},
			"channel": "sms:twilio"
		}]
	}`)}
	for range 2 {
		got, err := s.Publish(ctx, v)
		fmt.Println("version", got.Number, got.Repeated, err)
		for _, w := range got.Warnings {
			fmt.Println("warning:", w)
		}
	}

	v.Name = "CSI, General Repair"
	if _, err := s.Publish(ctx, v); err != nil {
		panic(err)
	}
	if err := s.Unpublish(ctx, "", 4523); err != nil {
		panic(err)
	}
	list, _, err := s.Surveys(ctx, "", storage.Page{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s: version %d of %d\n", list[0].Name, list[0].PublishedVersion, list[0].LatestVersion)

	d, err := s.Definition(ctx, "", 4523, 1)
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Questions[0].Label.For("en-GB"), d.Triggers[0].Schedule.InitialDelay)
	// Output:
	// version 1 false <nil>
	// warning: triggers[0].dedupRecipe: has nothing that identifies the event: a recipient is asked once and never again
	// version 1 true <nil>
	// warning: triggers[0].dedupRecipe: has nothing that identifies the event: a recipient is asked once and never again
	// CSI, General Repair: version 0 of 2
	// How was it? 1d12h
}

// published is a service with the document's survey, on a store in memory.
func published() *survey.Service {
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 5, 14, 5, 12, 34, 0, time.UTC))
	s := survey.New(memory.New(&memory.Options{Clock: clk}), nil, &survey.Options{SurveyURL: "https://host.example/s/{token}"})
	_, err := s.Publish(context.Background(), survey.Version{
		SurveyID: 4523, Name: "E2E CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(csiGR),
	})
	if err != nil {
		panic(err)
	}
	return s
}

// closed is the document's event.
func closed() survey.Batch {
	return survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
		Payload:   json.RawMessage(`{"wip":"40956","dealerId":"1","jobType":"GR"}`),
		Recipient: survey.Recipient{Address: "+964 770 000 0001", Locale: "ar", CustomerRef: "cust-123"},
	}}}
}

// An event that is told twice makes one instance, and the repeat hears of it.
func ExampleService_Ingest() {
	ctx, s := context.Background(), published()
	first, err := s.Ingest(ctx, closed())
	fmt.Println(first.Items[0].Outcome, err)
	again, err := s.Ingest(ctx, closed())
	fmt.Println(again.Items[0].Outcome, err)
	fmt.Println(first.Items[0].Instances[0].PublicID == again.Items[0].Instances[0].PublicID)
	// Output:
	// Created <nil>
	// Skipped <nil>
	// true
}

// One item that cannot be taken says why, and stops no other.
func ExampleIngestReport() {
	b := closed()
	b.Items = append(b.Items, survey.Item{
		Payload:   json.RawMessage(`{"wip":["40956","40957"],"dealerId":"1","jobType":"GR"}`),
		Recipient: survey.Recipient{Address: "+964 770 000 0001"},
	})
	report, err := published().Ingest(context.Background(), b)
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Created, report.Failed)
	fmt.Println(report.Items[1].Instances[0].Reason)
	// Output:
	// 1 1
	// dedupRecipe: candidate.wip: is an array, which has no text
}

// Support sends a link by hand.
func ExampleService_Link() {
	ctx, s := context.Background(), published()
	report, err := s.Ingest(ctx, closed())
	if err != nil {
		panic(err)
	}
	link, err := s.Link(ctx, "", report.Items[0].Instances[0].PublicID)
	fmt.Println(link[:len("https://host.example/s/")], len(link)-len("https://host.example/s/"), err)
	// Output: https://host.example/s/ 40 <nil>
}

// What a host shows of a survey, and of a customer.
func ExampleSupport_Instances() {
	ctx, s := context.Background(), published()
	if _, err := s.Ingest(ctx, closed()); err != nil {
		panic(err)
	}
	list, _, err := s.Support().Instances(ctx, "", survey.Selection{CustomerRef: "cust-123"}, storage.Page{})
	if err != nil {
		panic(err)
	}
	instance, log, err := s.Support().Instance(ctx, "", list[0].PublicID)
	fmt.Println(instance.Status, instance.NextSendOn, len(log), err)
	// Output:
	// Pending 2026-05-14 05:12:34 +0000 UTC 0 <nil>
}

// A link is taken back. Its event makes a new one only if that is asked for.
func ExampleSupport_Delete() {
	ctx, s := context.Background(), published()
	by := survey.By{Actor: "kim", Reason: "the visit was booked by mistake"}
	report, err := s.Ingest(ctx, closed())
	if err != nil {
		panic(err)
	}
	id := report.Items[0].Instances[0].PublicID
	fmt.Println(s.Support().Delete(ctx, "", id, by, nil))
	again, err := s.Ingest(ctx, closed())
	fmt.Println(again.Items[0].Outcome, err)
	fmt.Println(s.Support().Delete(ctx, "", id, by, &survey.DeleteOptions{Forget: true}))
	again, err = s.Ingest(ctx, closed())
	fmt.Println(again.Items[0].Outcome, err)
	// Output:
	// <nil>
	// Skipped <nil>
	// <nil>
	// Created <nil>
}
