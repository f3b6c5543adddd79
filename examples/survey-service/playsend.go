package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/belfry-go/belfry/survey"
)

// Those who are asked: one will complain, one be content, one not answer.
const (
	unhappy = "customer-123@example.com"
	content = "customer-124@example.com"
	silent  = "customer-125@example.com"
)

// ingest posts what the DMS has exported.
func (t *story) ingest(ctx context.Context) error {
	name := t.path(visitFile)
	if err := exportVisits(name); err != nil {
		return err
	}
	stranger, err := t.customer.do(ctx, http.MethodPost, "/api/Surveys/Triggers/ingest", jsonMedia, "{}")
	if err != nil {
		return err
	}
	got, err := scanner{t.machine}.post(ctx, name)
	if err != nil {
		return err
	}
	t.at("The DMS exports %d visits, and the scanner posts them: %d created, %d skipped, %d failed, %d that no trigger wants.",
		len(got.Items), got.Created, got.Skipped, got.Failed, got.NoMatch)
	for i, item := range got.Items {
		row := visits[i+1]
		if item.Outcome == survey.Failed {
			t.more("Order %s: %s", row[0], item.Reason)
		}
		if item.Outcome == survey.Created {
			t.ids[row[3]] = item.Instances[0].PublicID
		}
	}
	return errors.Join(
		expect("ingest without the token", stranger.status, http.StatusUnauthorized),
		expect("created", got.Created, 3), expect("skipped", got.Skipped, 1),
		expect("failed", got.Failed, 1), expect("no trigger", got.NoMatch, 1),
	)
}

// ingestAgain is a scanner that was restarted and has forgotten all.
func (t *story) ingestAgain(ctx context.Context) error {
	got, err := scanner{t.machine}.post(ctx, t.path(visitFile))
	if err != nil {
		return err
	}
	t.at("The scanner is restarted and posts the same file: %d created, %d skipped, each with the id that it had.", got.Created, got.Skipped)
	same := true
	for i, item := range got.Items {
		if item.Outcome == survey.Skipped {
			same = same && item.Instances[0].PublicID == t.ids[visits[i+1][3]]
		}
	}
	return errors.Join(expect("created", got.Created, 0), expect("skipped", got.Skipped, 4), expect("same ids", same, true))
}

// send lets the links go out, each once however often the timer ticks.
func (t *story) send(ctx context.Context) error {
	sent, err := t.tick(ctx)
	if err != nil {
		return err
	}
	again, err := t.pass(ctx, 5*time.Minute, time.Minute)
	if err != nil {
		return err
	}
	t.at("The timer ticks, and the links have gone out:")
	letters, err := t.readMail()
	for _, l := range letters {
		t.links[l.to] = l.link
	}
	return errors.Join(err,
		expect("sends", sent, 3), expect("sends in the five minutes after that", again, 0),
		expect("mails", len(letters), 3), t.is(ctx, silent, survey.StatusSent),
	)
}

// remind lets a day pass.
func (t *story) remind(ctx context.Context) error {
	early, err := t.pass(ctx, 23*time.Hour, time.Hour)
	if err != nil {
		return err
	}
	if _, err := t.pass(ctx, time.Hour, 10*time.Minute); err != nil {
		return err
	}
	t.at("Nobody has answered for a day, so each is reminded, with the same link:")
	letters, err := t.readMail()
	same := true
	for _, l := range letters {
		same = same && l.link == t.links[l.to]
	}
	return errors.Join(err, expect("reminders before their time", early, 0), expect("reminders", len(letters), 3), expect("same links", same, true))
}

// readMail prints the new mails.
func (t *story) readMail() ([]letter, error) {
	letters, err := t.mails.news()
	for _, l := range letters {
		t.more("%s  %s", l.to, l.subject)
	}
	return letters, err
}
