package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-go/belfry/survey"
)

// open follows a link, as a mail scanner does and as a customer does.
func (t *story) open(ctx context.Context) error {
	t.clk.Add(time.Hour)
	page, err := t.customer.do(ctx, http.MethodGet, t.links[unhappy], "", "")
	if err != nil {
		return err
	}
	scanned := t.is(ctx, unhappy, survey.StatusSent)
	beacon, err := t.customer.do(ctx, http.MethodPost, t.links[unhappy]+"/opened", "", "")
	if err != nil {
		return err
	}
	t.at("A mail scanner fetches a link, which changes nothing. A browser shows it: the form is in Arabic,")
	t.more("from right to left, and its script says that it was opened.")
	return errors.Join(
		expect("the form", page.status, http.StatusOK), expect("from right to left", strings.Contains(page.body, `lang="ar" dir="rtl"`), true),
		scanned, expect("the beacon", beacon.status, http.StatusNoContent), t.is(ctx, unhappy, survey.StatusOpened),
	)
}

// fill posts a form, as a browser without JavaScript does.
func (t *story) fill(ctx context.Context, address, values string) (reply, error) {
	return t.customer.do(ctx, http.MethodPost, strings.Replace(t.links[address], "/s/", "/SurveyInstances/", 1)+"/responses", formMedia, values)
}

// submit fills the form in, with a mistake on the way.
func (t *story) submit(ctx context.Context) error {
	wrong, err := t.fill(ctx, unhappy, "q.rate=3")
	if err != nil {
		return err
	}
	more, err := t.fill(ctx, unhappy, "q.rate=3&q.has-a-complaint=yes")
	if err != nil {
		return err
	}
	undone := t.is(ctx, unhappy, survey.StatusOpened)
	done, err := t.fill(ctx, unhappy, "q.rate=3&q.has-a-complaint=yes&shown=complaint&q.complaint=The+radio+is+gone.")
	if err != nil {
		return err
	}
	happy, err := t.fill(ctx, content, "q.rate=9&q.has-a-complaint=no")
	if err != nil {
		return err
	}
	t.at("%s forgets a question and is told so, has a complaint and is asked which, and is done.", unhappy)
	t.more("%s is content.", content)
	return errors.Join(
		expect("an answer is missing", wrong.status, http.StatusUnprocessableEntity),
		expect("the third question", more.status == http.StatusOK && strings.Contains(more.body, "<textarea"), true), undone,
		expect("the answers", done.status, http.StatusOK), expect("the thanks", strings.Contains(done.body, "يسعدنا"), true),
		expect("the other answers", happy.status, http.StatusOK), expect("the other thanks", strings.Contains(happy.body, "We are glad to know."), true),
		t.is(ctx, unhappy, survey.StatusCompleted), t.is(ctx, content, survey.StatusCompleted),
	)
}

// submitAgain sends the same form twice, and then another one.
func (t *story) submitAgain(ctx context.Context) error {
	same, err := t.fill(ctx, content, "q.rate=9&q.has-a-complaint=no")
	if err != nil {
		return err
	}
	other, err := t.fill(ctx, content, "q.rate=1&q.has-a-complaint=no")
	if err != nil {
		return err
	}
	t.at("The same answers again are thanked for again, and stored once. Other answers are too late: %d.", other.status)
	return errors.Join(expect("the same answers", same.status, http.StatusOK),
		expect("other answers", other.status, http.StatusConflict))
}
