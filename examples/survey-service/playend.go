package main

import (
	"context"
	"encoding/csv"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-go/belfry/survey"
)

// expire lets the time for an answer run out.
func (t *story) expire(ctx context.Context) error {
	if _, err := t.pass(ctx, 25*24*time.Hour, 12*time.Hour); err != nil {
		return err
	}
	still := t.is(ctx, silent, survey.StatusSent)
	if _, err := t.pass(ctx, 24*time.Hour, time.Hour); err != nil {
		return err
	}
	expired, err := t.customer.do(ctx, http.MethodGet, t.links[silent], "", "")
	if err != nil {
		return err
	}
	unknown, err := t.customer.do(ctx, http.MethodGet, "/s/no-such-link", "", "")
	if err != nil {
		return err
	}
	late, err := t.fill(ctx, silent, "q.rate=5&q.has-a-complaint=no")
	if err != nil {
		return err
	}
	t.at("%s has not answered for 30 days since the reminder: the link has expired, and answers like one that never was.", silent)
	return errors.Join(
		still, t.is(ctx, silent, survey.StatusExpired), expect("the expired link", expired.status, http.StatusNotFound),
		expect("a link that never was", unknown, expired),
		expect("a late answer", late.status, http.StatusNotFound),
	)
}

// count reads the export and sums up.
func (t *story) count(ctx context.Context) error {
	got, err := t.machine.do(ctx, http.MethodGet, "/admin/responses.csv", "", "")
	if err != nil {
		return err
	}
	rows, err := csv.NewReader(strings.NewReader(got.body)).ReadAll()
	if err != nil {
		return err
	}
	tally, err := t.surveys.Tally(ctx, "", surveyID)
	if err != nil {
		return err
	}
	extra, err := t.mails.news()
	err = errors.Join(err,
		expect("mails after the reminders", len(extra), 0), expect("the tally", tally, survey.Tally{Completed: 2, Expired: 1}),
		expect("exported rows", len(rows)-1, 2), expect("the export", got.status, http.StatusOK),
	)
	if err != nil {
		return err
	}
	t.tell("\n3 links, %d mails: %d answered, %d expired; 1 ticket, %d rows exported. Every step was as expected.",
		len(t.mails.known), tally.Completed, tally.Expired, len(rows)-1)
	return nil
}
