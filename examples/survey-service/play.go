package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/notify/channel"
)

// story is the service with a clock that it moves itself, and those who call it.
type story struct {
	*garage
	ctx               context.Context
	clk               *clock.Mock
	program, customer caller
	mu                sync.Mutex // guards what is heard from several goroutines at once
	heard             []string
	links, ids        map[string]string // by customer
}

// The customers: one will complain, one be content, one not answer.
const unhappy, content, silent = "customer-123@example.com", "customer-124@example.com", "customer-125@example.com"

// play tells the story. Its test compares what it prints.
func play(ctx context.Context) {
	dir := must(os.MkdirTemp("", "survey-service"))
	defer func() { _ = os.RemoveAll(dir) }()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	site := "http://" + listener.Addr().String()
	t := &story{ctx: ctx, clk: clock.NewMock(), links: map[string]string{}, ids: map[string]string{}} // a real program leaves the clock out
	t.clk.Set(time.Date(2026, time.May, 14, 5, 12, 34, 0, time.UTC))
	t.garage = must(openGarage(ctx, dir, t.clk, site, t.hear, t.mail))
	defer t.store.Close()
	t.program, t.customer = caller{site, t.token}, caller{site: site}
	server := &http.Server{Handler: t.handler(), ReadHeaderTimeout: 5 * time.Second}
	defer server.Close()
	go func() { _ = server.Serve(listener) }() // until Close
	check(t.publish(ctx))

	t.say("A stranger posts an event: %s", t.call(t.customer, http.MethodPost, "/api/Surveys/Triggers/ingest", "{}"))
	for range 2 {
		got := must(t.program.post(ctx, t.path(visitFile)))
		t.say("The scanner posts %d visits: %d created, %d skipped, %d failed, %d that no trigger wants.", len(got.Items), got.Created, got.Skipped, got.Failed, got.NoMatch)
		for i, customer := range []string{unhappy, content, silent} {
			id := got.Items[i].Instances[0].PublicID
			if t.ids[customer] != "" && t.ids[customer] != id {
				log.Fatal("the link of ", customer, " has changed")
			}
			t.ids[customer] = id
		}
	}
	t.pass(5*time.Minute, time.Minute)
	t.say("Five minutes later the links have gone out, each once.")
	t.pass(24*time.Hour, time.Hour)
	t.say("Nobody has answered for a day, so each is reminded, with the same link.")

	page := t.call(t.customer, http.MethodGet, t.links[unhappy], "")
	t.say("A mail scanner fetches a link: %.3s, in Arabic and from right to left: %t", page, strings.Contains(page, `lang="ar" dir="rtl"`))
	t.look(unhappy)
	t.say("The page's script says that it was opened: %s", t.call(t.customer, http.MethodPost, t.links[unhappy]+"/opened", ""))
	t.look(unhappy)
	t.say("The customer forgets a question: %.3s", t.fill(unhappy, "q.rate=3"))
	t.say("Has a complaint, and is asked which: %t", strings.Contains(t.fill(unhappy, "q.rate=3&q.has-a-complaint=yes"), "<textarea"))
	t.say("Is done, and thanked in Arabic: %t", strings.Contains(t.fill(unhappy, "q.rate=3&q.has-a-complaint=yes&shown=complaint&q.complaint=The+radio+is+gone."), "يسعدنا"))
	for _, values := range []string{"q.rate=9&q.has-a-complaint=no", "q.rate=9&q.has-a-complaint=no", "q.rate=1&q.has-a-complaint=no"} {
		t.say("Another customer answers %s: %.3s", values, t.fill(content, values))
	}
	t.say("The warehouse is away.")
	t.pass(0, time.Hour)
	t.look(unhappy)
	t.look(content)
	t.pass(4*24*time.Hour, time.Hour)
	t.say("It was called with growing pauses; what it has not taken are dead letters now.")
	t.look(unhappy)
	check(os.Mkdir(t.path(warehouseFolder), 0o700))
	t.say("It is back. A dry run of a replay says %s", t.call(t.program, http.MethodPost, "/admin/dead-letters/warehouse/replay?dryRun=1&reason=it+is+back", ""))
	t.say("And the replay: %s", t.call(t.program, http.MethodPost, "/admin/dead-letters/warehouse/replay?reason=it+is+back", ""))
	t.pass(0, time.Hour)
	t.look(unhappy)
	t.pass(25*24*time.Hour, 12*time.Hour)
	t.look(silent)
	t.pass(24*time.Hour, time.Hour)
	t.say("30 days after its reminder a link expires, and says so; one that never was says nothing:")
	t.look(silent)
	expired, never := t.call(t.customer, http.MethodGet, t.links[silent], ""), t.call(t.customer, http.MethodGet, "/s/no-such-link", "")
	t.say("%.3s and %.3s; a late answer: %.3s", expired, never, t.fill(silent, "q.rate=5&q.has-a-complaint=no"))

	tally := must(t.surveys.Responses().Tally(ctx, "", surveyID))
	tickets, stored := must(filepath.Glob(t.path("tickets/*"))), must(filepath.Glob(t.path(warehouseFolder+"/*")))
	rows := strings.Count(t.call(t.program, http.MethodGet, "/admin/responses.csv", ""), "\n") // below the header
	t.say("%d answered, %d expired; %d ticket, %d in the warehouse, %d rows exported.", tally.Completed, tally.Expired, len(tickets), len(stored), rows)
}

func (t *story) say(format string, args ...any) {
	fmt.Printf(t.clk.Now().UTC().Format("_2 Jan 15:04")+"  "+format+"\n", args...)
}

func (t *story) hear(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard = append(t.heard, fmt.Sprintf("  "+format, args...))
}

var linkInText = regexp.MustCompile(`http://\S+/s/[a-z0-9]+`)

// mail hears of a mail, and keeps its link.
func (t *story) mail(m channel.Message, _ string) {
	t.mu.Lock()
	link := linkInText.FindString(m.Text)
	known := t.links[m.To] == link
	t.links[m.To] = link
	t.mu.Unlock()
	t.hear("mail to %s: %s (a link that it had: %t)", m.To, m.Subject, known)
}

// pass lets d pass. The timer of a host that runs no poller posts every now and then,
// until nothing is due.
func (t *story) pass(d, every time.Duration) {
	for end := t.clk.Now().Add(d); ; t.clk.Add(min(every, end.Sub(t.clk.Now()))) {
		for done := false; !done; {
			done = strings.Contains(t.call(t.program, http.MethodPost, "/api/Surveys/scheduler/tick", ""), `"processed":0`)
		}
		slices.Sort(t.heard)
		for _, line := range t.heard {
			fmt.Println(line)
		}
		if t.heard = nil; !t.clk.Now().Before(end) {
			return
		}
	}
}

// look prints what the administrator sees of a link.
func (t *story) look(customer string) {
	story := t.call(t.program, http.MethodGet, "/admin/links/"+t.ids[customer], "")
	story = strings.ReplaceAll(story, t.ids[customer], "{id}")
	fmt.Println("  " + customer + ": " + strings.ReplaceAll(story, "\n", "\n    "))
}

// fill posts a form, as a browser without JavaScript does.
func (t *story) fill(customer, values string) string {
	return t.call(t.customer, http.MethodPost, strings.Replace(t.links[customer], "/s/", "/SurveyInstances/", 1)+"/responses", values)
}

// call makes a call; its answer begins with the status.
func (t *story) call(c caller, method, path, body string) string {
	media := "application/x-www-form-urlencoded"
	if strings.HasPrefix(path, "/api/") {
		media = "application/json"
	}
	status, answer, err := c.do(t.ctx, method, path, media, body)
	check(err)
	return strings.TrimSpace(fmt.Sprint(status, " ", answer))
}

func must[T any](got T, err error) T {
	check(err)
	return got
}

func check(err error) {
	if err != nil {
		log.Fatal("survey-service: ", err)
	}
}
