package supporthttp_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests run on machines without zone data

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
	"github.com/belfry-go/belfry/survey"
)

// The list of messages shows days of the caller's zone, today without being asked; states,
// types and channels narrow it down, and a filter that cannot be meant is said.
func TestMessagesAreListedByDayAndState(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	dublin, err := time.LoadLocation("Europe/Dublin")
	o.must(err)
	south := everything
	south.Zone = time.FixedZone("far", -11*3600)
	h := o.site(everything)
	_, today := o.ask(h, "GET", "/messages", "")
	for _, want := range []string{"Today, Sunday, 1 March 2026", "Did not get it <b>1</b>", "All <b>3</b>", "</svg>Unknown</span> <b>1</b>", "</svg>Sent</span> <b>2</b>"} {
		if !strings.Contains(today, want) {
			t.Errorf("no %q: %s", want, today)
		}
	}
	for query, want := range map[string]int{
		"": 3, "?from=2026-03-01": 3, "?from=2026-02-28": 0, "?from=2026-02-28&to=2026-03-01": 3, "?state=Unknown": 1, "?state=Missing": 1, "?state=Sent": 2, "?state=Arrived": 0,
		"?unit=harbour": 1, "?unit=hill": 0, "?type=news": 2, "?type=survey": 1, "?type=other": 0, "?channel=email:test": 3, "?channel=sms:test": 0, "?state=Sent&channel=email:test&type=news": 1,
	} {
		if _, body := o.ask(h, "GET", "/messages"+query, ""); strings.Count(body, `<td class="at">`) != want {
			t.Errorf("%q: %d rows, not %d", query, strings.Count(body, `<td class="at">`), want)
		}
	}
	if _, body := o.ask(o.site(south), "GET", "/messages?from=2026-02-28", ""); strings.Count(body, `<td class="at">`) != 3 || !strings.Contains(body, `title="2026-03-01T08:00:00Z">21:00</time>`) {
		t.Error("another zone's day: ", body)
	}
	irish := everything
	irish.Zone = dublin
	if _, body := o.ask(o.site(irish), "GET", "/messages", ""); !strings.Contains(body, `title="2026-03-01T08:00:00Z">08:00</time>`) {
		t.Error(body)
	}
	for query, want := range map[string]int{"?from=2026-03-01": 3, "?from=2026-02-28&to=2026-02-28": 0, "?from=2026-03-01&state=Missing": 1, "?from=2026-03-01&unit=harbour": 1} {
		if _, body := o.ask(h, "GET", "/api/v1/messages"+query, ""); strings.Count(body, `"messageId"`) != want {
			t.Errorf("%q: not %d: %s", query, want, body)
		}
	}
	if answer, body := o.ask(h, "GET", "/api/v1/messages?from=x", ""); answer.StatusCode != http.StatusUnprocessableEntity {
		t.Error(answer.StatusCode, body)
	}
	for _, query := range []string{"?from=x", "?from=2026-03-02&to=2026-03-01", "?state=Nothing", "?from=0001-01-01"} {
		if answer, _ := o.ask(h, "GET", "/messages"+query, ""); answer.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", query, answer.StatusCode)
		}
	}
}

// What is in the order of time is divided by days; what is not has its day in each row.
// Messages are on one page alone.
func TestOnlyWhatIsInTheOrderOfTimeIsDividedByDays(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	waiting := "/needs?kind=Hold&domain=automation&table=automation_scheduler&reason=HeldBySupport"
	for page, want := range map[string]string{
		"/list?of=reminders": `<td class="at full"><time datetime="2026-03-01T07:00:00Z" title="2026-03-01T07:00:00Z">Today, 07:00</time>`,
		waiting:              `<td class="at full"><time datetime="2026-04-01T09:00:00Z" title="2026-04-01T09:00:00Z">Wed 1 Apr, 09:00</time>`,
		"/list?of=audit":     `scope="rowgroup">Today, Sunday, 1 March 2026</th>`,
		"/messages":          `scope="rowgroup">Today, Sunday, 1 March 2026</th>`,
	} {
		_, body := o.ask(h, "GET", page, "")
		if !strings.Contains(body, want) || strings.Contains(body, `class="day"`) != strings.Contains(want, "rowgroup") {
			t.Errorf("%s: %s", page, body)
		}
	}
	if answer, _ := o.ask(h, "GET", "/list?of=messages", ""); answer.StatusCode != http.StatusNotFound {
		t.Error(answer.StatusCode)
	}
}

// The numbers of a channel are those of the rows that their links list.
func TestTheNumbersOfAChannelAreWhatTheirLinksList(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	send := func(subjects ...string) {
		for i, subject := range subjects {
			to := fmt.Sprint(subject, "@example.com")
			_, err := o.out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{Scope: "north", Channel: "email:test", PartitionKey: fmt.Sprint(o.clk.Now(), i),
				NotificationType: "news", Address: to, Content: notify.Content{Subject: subject}})
			o.must(err)
		}
		o.must(belfry.NewPoller(o.store, nil, o.out).Drain(t.Context()))
	}
	o.must(o.out.Contacts().Suppress(t.Context(), "north", channel.HardBounce, automation.By{Actor: "kim", Reason: "a call"}, notify.Destination{Method: "email", Address: "blocked@example.com"}))
	for _, at := range []time.Time{
		time.Date(2026, 3, 10, 23, 0, 0, 0, time.UTC), time.Date(2026, 3, 11, 1, 0, 0, 0, time.UTC), time.Date(2026, 3, 11, 23, 0, 0, 0, time.UTC), time.Date(2026, 3, 12, 1, 0, 0, 0, time.UTC),
	} {
		o.clk.Set(at)
		send("refused", "doubt", "blocked", "fine")
	}
	o.clk.Set(time.Date(2026, 3, 12, 22, 0, 0, 0, time.UTC))
	h := o.site(everything)
	_, home := o.ask(h, "GET", "/", "")
	links := regexp.MustCompile(`<a class="(?:bad|odd)" href="([^"]*)">(\d+)</a>`).FindAllStringSubmatch(home, -1)
	if len(links) != 2 || !strings.Contains(home, "Channels, yesterday and today") {
		t.Fatal(home)
	}
	for _, link := range links {
		_, body := o.ask(h, "GET", "/"+strings.ReplaceAll(link[1], "&amp;", "&"), "")
		if got := strconv.Itoa(strings.Count(body, `<td class="at">`)); got != link[2] || got != "3" {
			t.Errorf("%s: %s rows, not %s", link[1], got, link[2])
		}
	}
}

// A code of ours leads to what it means, and one of a provider's leads nowhere.
func TestOnlyCodesThatAreExplainedAreLinks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	_, err := o.out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{Scope: "north", Channel: "email:test", PartitionKey: "refused", NotificationType: "news",
		RecipientRef: "ann", Address: "ann@example.com", Content: notify.Content{Subject: "refused"}})
	o.must(err)
	o.must(belfry.NewPoller(o.store, nil, o.out).Drain(t.Context()))
	h := o.site(everything)
	for who, want := range map[string]string{"ann": `<span class="code"><bdi>550</bdi></span>`, person: `<a class="code" href="reasons#OutcomeUnknown">OutcomeUnknown</a>`} {
		if _, body := o.ask(h, "GET", "/story?person="+who, ""); !strings.Contains(body, want) || strings.Contains(body, "reasons#550") {
			t.Errorf("%s: %s", who, body)
		}
	}
}

// The first page counts what waits once, and says so when it cannot read what has waited for
// longest.
func TestTheFirstPageReadsTheHealthOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	spy := &storetest.Spy{Store: o.store}
	out := notify.New(spy, nil)
	o.desk = support.New(support.Options{
		Store: spy, Automation: automation.New(spy, out, nil), Notify: out, Survey: survey.New(spy, out, &survey.Options{SurveyURL: "https://school.example/s/{token}"}),
	})
	h := o.site(everything)
	counts := func(page string) (n int) {
		spy.SetHook(func(c storetest.Call) error {
			if c.Verb == storetest.Tally && c.Table == "survey_instance" {
				n++
			}
			return nil
		})
		if answer, body := o.ask(h, "GET", page, ""); answer.StatusCode != http.StatusOK {
			t.Fatal(answer.StatusCode, body)
		}
		return n
	}
	if got, want := counts("/"), counts("/api/v1/health")+counts("/api/v1/calendar"); got != want || want == 0 {
		t.Errorf("%d counts, not %d", got, want)
	}
	spy.SetHook(func(c storetest.Call) error {
		if c.Verb == storetest.Select && c.Table == "automation_scheduler" {
			return storage.ErrUnavailable
		}
		return nil
	})
	if answer, _ := o.ask(h, "GET", "/", ""); answer.StatusCode != http.StatusServiceUnavailable {
		t.Error(answer.StatusCode)
	}
}

// What was not looked at is said: a search and counts go among the newest 10,000 messages of
// all tenants.
func TestAPageSaysWhatItDidNotLookAt(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for i := range 100 {
		others := make([]notify.OutgoingMessage, 100)
		for j := range others {
			others[j] = notify.OutgoingMessage{Scope: "south", Channel: "email:test", NotificationType: "news", PartitionKey: fmt.Sprint(i, "-", j), Address: "all@example.com", Content: notify.Content{Subject: "News"}}
		}
		_, err := o.out.EnsureOutgoingMessage(o.Context(), nil, others...)
		o.must(err)
	}
	h := o.site(everything)
	for page, want := range map[string]string{
		"/messages": "All <b>0</b>",
		"/":         "Counted among the newest 10,000 messages of all tenants.",
	} {
		if _, body := o.ask(h, "GET", page, ""); !strings.Contains(body, want) {
			t.Errorf("%s has no %q: %s", page, want, body)
		}
	}
	if _, body := o.ask(h, "POST", "/api/v1/search", `{"q":"`+address+`"}`); !strings.Contains(body, `"more":true`) {
		t.Error(body)
	}
	answer, _ := o.ask(h, "POST", "/search", url.Values{"q": {address}}.Encode())
	if _, body := o.ask(h, "GET", "/"+answer.Header.Get("Location"), ""); !strings.Contains(body, "Only the newest 10,000 messages were searched") {
		t.Error(body)
	}
	if _, body := o.ask(h, "GET", "/messages", ""); !strings.Contains(body, "Counted among the newest 10,000 messages of all tenants.") {
		t.Error(body)
	}
}

// What waits and what goes out have the days and times of the caller's zone, on the first page
// and on the calendar: 23:30 of UTC on 31 March is 12:30 of the next day in Auckland. The API
// answers in UTC.
func TestWhatGoesOutHasTheDaysOfTheCallersZone(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	_, err := o.reminders.Ensure(o.Context(), automation.Candidate{
		Scope: "north", Type: "certificate", Source: automation.Source{Type: "employee", ID: "late"}, TargetDate: automation.Date{Year: 2026, Month: 3, Day: 31}, SendAt: "23:30",
	})
	o.must(err)
	o.clk.Set(time.Date(2026, 3, 31, 9, 45, 0, 0, time.UTC)) // 22:45 in Auckland
	auckland, err := time.LoadLocation("Pacific/Auckland")
	o.must(err)
	far := everything
	far.Zone = auckland
	for page, want := range map[string][]string{
		"/": {"Today: 0", `<a href="calendar?day=2026-04-01">Tomorrow, Wednesday, 1 April: 1</a>`, `<time datetime="2026-03-31T23:30:00Z" title="2026-03-31T23:30:00Z">12:30</time>`, `class="quiet">since <time datetime="2026-03-01T08:00:00Z" title="2026-03-01T08:00:00Z">Sun 1 Mar 2026, 21:00</time>`},
		"/calendar": {`<time datetime="2026-03-30T11:00:00Z">Tuesday, 31 March</time></th><td class="num"></td>`, `<a href="calendar?day=2026-04-01"><time datetime="2026-03-31T11:00:00Z">Wednesday, 1 April</time></a></th><td class="num">1</td>`, `<time datetime="2026-03-31T23:30:00Z">12:30</time>`,
			`<time datetime="2026-04-05T12:00:00Z">Monday, 6 April</time>`}, // summer time has ended on the 5th
		"/calendar?day=2026-04-01":                       {"<h1>Goes out on Wednesday, 1 April 2026</h1>", ">12:30</time>", "certificate, on 2026-03-31"},
		"/calendar?day=2026-04-02":                       {"None."},
		"/calendar?day=April":                            {"Days are written 2026-04-17"},
		"/api/v1/upcoming?from=2026-04-01&to=2026-04-02": {`"on":"2026-03-31T23:30:00Z"`, `"entity":"late"`, `"status":"Pending"`},
		"/api/v1/calendar":                               {`{"on":"2026-03-31T00:00:00Z","rows":[{"domain":"automation","table":"automation_scheduler","kind":"certificate","what":"reminder of certificate","rows":1,"firstOn":"2026-03-31T23:30:00Z"}]}`},
	} {
		_, body := o.ask(o.site(far), "GET", page, "")
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s has no %s: %s", page, text, body)
			}
		}
	}
}

// A message of the last hour before clocks jump over midnight is one of its own day alone.
func TestADayWithoutAMidnightListsItsOwnMessages(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.clk.Set(time.Date(2026, 9, 6, 3, 30, 0, 0, time.UTC)) // 23:30 on the 5th in Santiago
	_, err := o.out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{Scope: "north", Channel: "email:test", PartitionKey: "late", NotificationType: "late",
		RecipientRef: "sam", Address: "sam@example.com", Content: notify.Content{Subject: "News"}})
	o.must(err)
	far := everything
	far.Zone, err = time.LoadLocation("America/Santiago")
	o.must(err)
	for day, want := range map[string]bool{"2026-09-05": true, "2026-09-06": false} {
		if _, body := o.ask(o.site(far), "GET", "/messages.csv?from="+day, ""); strings.Contains(body, "late") != want {
			t.Errorf("%s: %s", day, body)
		}
	}
}

// What a page of messages shows is there for a spreadsheet: by the same filter, in the
// caller's zone, without what they may not see, and without formulas.
func TestMessagesAreThereForASpreadsheet(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	_, err := o.out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{Scope: "north", Channel: "email:test", PartitionKey: "formula", NotificationType: "=1+1",
		RecipientRef: "sam", RecipientName: "=HYPERLINK(1)", Address: "sam@example.com", Content: notify.Content{Subject: "News"}})
	o.must(err)
	far, blind := everything, everything
	far.Zone = time.FixedZone("far", -11*3600)
	blind.Personal = false
	for name, c := range map[string]struct {
		caller supporthttp.Caller
		query  string
		want   []string // lines, the newest first
	}{
		"all":      {everything, "from=2026-03-01", []string{"2026-03-01T11:00:00Z,sam,'=HYPERLINK(1),sam@example.com,'=1+1,,email:test,Waiting,It has not gone out yet.,", "", "", ""}},
		"a state":  {everything, "from=2026-03-01&state=Waiting", []string{"2026-03-01T11:00:00Z,sam,"}},
		"no day":   {everything, "from=2026-02-01", nil},
		"a zone":   {far, "from=2026-02-28&state=Sent", []string{"2026-02-28T22:00:00-11:00,", "2026-02-28T21:00:00-11:00,"}},
		"no names": {blind, "from=2026-03-01&state=Waiting", []string{"2026-03-01T11:00:00Z,~"}},
	} {
		answer, body := o.ask(o.site(c.caller), "GET", "/messages.csv?"+c.query, "")
		rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if err != nil || len(rows) != len(c.want)+1 || !strings.HasPrefix(body, "\ufefftime,person,name,") || answer.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
			t.Errorf("%s: %d %v: %s", name, answer.StatusCode, err, body)
			continue
		}
		for i, want := range c.want {
			if line := strings.Join(rows[i+1], ","); !strings.HasPrefix(line, want) || !c.caller.Personal && strings.Contains(line, "sam@") {
				t.Errorf("%s: %s, not %s", name, line, want)
			}
		}
	}
	if _, page := o.ask(o.site(everything), "GET", "/messages?state=Sent", ""); !strings.Contains(page, `<a href="messages.csv?from=2026-03-01&amp;state=Sent&amp;to=2026-03-01">CSV</a>`) {
		t.Error(page)
	}
}

// The reminders of a day that sent nothing are found by the day, on the page and in the API.
func TestWhoGotNoReminderOnADay(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	for day, there := range map[string]bool{"2026-05-02": true, "2026-05-01": false} {
		_, page := o.ask(h, "GET", "/reminders?from="+day, "")
		if strings.Contains(page, "30 days before 2026-06-01") != there || strings.Contains(page, `scope="rowgroup">Saturday, 2 May 2026</th>`) != there {
			t.Errorf("%s: %s", day, page)
		}
		_, list := o.ask(h, "GET", "/api/v1/reminders?from="+day, "")
		if strings.Contains(list, "2026-05-02T09:00:00Z") != there {
			t.Errorf("%s: %s", day, list)
		}
	}
	for query, there := range map[string]bool{"": true, "&type=certificate": true, "&type=other": false, "&unit=hill": false} {
		for _, at := range []string{"/reminders", "/api/v1/reminders"} {
			if _, body := o.ask(h, "GET", at+"?from=2026-05-02"+query, ""); strings.Contains(body, "30 days before 2026-06-01") != there {
				t.Errorf("%s%s: %s", at, query, body)
			}
		}
	}
	if answer, body := o.ask(h, "GET", "/reminders?from=yesterday", ""); answer.StatusCode != http.StatusUnprocessableEntity {
		t.Error(answer.StatusCode, body)
	}
}

// What is overdue has no next moment: that one has passed.
func TestAMomentThatHasPassedIsNotTheNext(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	_, err := o.out.EnsureOutgoingMessage(o.Context(), nil, notify.OutgoingMessage{
		Scope: "north", Channel: "email:test", PartitionKey: "later", NotificationType: "later", RecipientRef: person, Address: address, ScheduledOn: o.clk.Now().Add(time.Hour),
	})
	o.must(err)
	for _, at := range []string{"/messages?type=later", "/story?person=" + url.QueryEscape(person)} {
		if _, body := o.ask(h, "GET", at, ""); !strings.Contains(body, "Next: ") {
			t.Errorf("%s, while it waits: %s", at, body)
		}
	}
	o.clk.Add(2 * time.Hour)
	for _, at := range []string{"/messages?type=later", "/story?person=" + url.QueryEscape(person)} {
		if _, body := o.ask(h, "GET", at, ""); strings.Contains(body, "Next: ") {
			t.Errorf("%s, overdue: %s", at, body)
		}
	}
}

// Where all messages to a person are stopped, their page says what becomes of what is still
// listed as to come.
func TestAPersonsPageSaysThatAllMessagesAreStopped(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	const says = "ends without a message when its time comes"
	page := func() string {
		_, body := o.ask(h, "GET", "/story?person="+url.QueryEscape(person), "")
		return body
	}
	if body := page(); strings.Contains(body, says) {
		t.Error("before: ", body)
	}
	by := notify.By{Actor: "kim", Reason: "a call"}
	o.must(o.out.Contacts().Stop(o.Context(), "north", person, "", by))
	if body := page(); !strings.Contains(body, says) {
		t.Error("stopped: ", body)
	}
	o.must(o.out.Contacts().Allow(o.Context(), "north", person, "", by))
	if body := page(); strings.Contains(body, says) {
		t.Error("allowed again: ", body)
	}
}

// Nothing is chosen in a table before somebody does, and an action without a row says so.
func TestNothingIsTickedBeforehand(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	for _, page := range []string{"/messages", "/list?of=reminders", "/needs?kind=Hold&domain=automation&table=automation_scheduler&reason=HeldBySupport"} {
		_, body := o.ask(h, "GET", page, "")
		if !strings.Contains(body, `type="checkbox"`) || strings.Contains(body, "checked") {
			t.Errorf("%s: %s", page, body)
		}
	}
	answer, body := o.ask(h, "POST", "/act", "action=Release&back=list?of%3Dreminders")
	if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "tick at least one row") {
		t.Error(answer.StatusCode, body)
	}
}

// An erasure is confirmed by the name that the page heads, or by the host's id; another text
// leaves the form as it was.
func TestAnErasureIsConfirmedByTheName(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	form := url.Values{"action": {"Erase"}, "target": {"Person " + person}}
	if _, body := o.ask(h, "POST", "/act", form.Encode()); !strings.Contains(body, "Type “&lt;script&gt;") || !strings.Contains(body, "or “"+person+"”") {
		t.Error("the form does not say what to type: ", body)
	}
	form.Set("confirm", "yes")
	form.Set("typed", "someone")
	form.Set("reason", "they asked")
	answer, body := o.ask(h, "POST", "/act", form.Encode())
	if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, `value="someone"`) || !strings.Contains(body, `value="they asked"`) || !strings.Contains(body, "Nothing was done yet") {
		t.Error(answer.StatusCode, body)
	}
	form.Set("typed", strings.ToUpper(hostile[:8])+hostile[8:])
	if answer, body := o.ask(h, "POST", "/act", form.Encode()); answer.StatusCode != http.StatusOK || !strings.Contains(body, "Done for 1 of 1") {
		t.Error(answer.StatusCode, body)
	}
	if left, _, err := o.out.Support().MessagesOf(o.Context(), "north", notify.Recipient{Ref: person}, storage.Page{}); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}

// A message is sent to another address by a form, which keeps what was typed; the first
// stays, and where it went too.
func TestAMessageIsSentToAnotherAddressByTheForm(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	rows, _, err := o.out.Support().Messages(o.Context(), "north", canary+hostile[:5], storage.Page{})
	o.must(err)
	form := url.Values{"action": {"SendTo"}, "target": {"Message " + rows[0].Key}}
	_, body := o.ask(h, "POST", "/act", form.Encode())
	if !strings.Contains(body, `<input id="to" name="to" value="" required`) || !strings.Contains(body, address) {
		t.Error(body)
	}
	form.Set("confirm", "yes")
	form.Set("reason", "a call")
	for _, wrong := range []string{"", "nowhere", address} {
		form.Set("to", wrong)
		answer, body := o.ask(h, "POST", "/act", form.Encode())
		if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, `value="a call"`) || !strings.Contains(body, `id="to-e"`) {
			t.Errorf("%q: %d %s", wrong, answer.StatusCode, body)
		}
	}
	form.Set("to", "zinnober@new.example")
	answer, body := o.ask(h, "POST", "/act", form.Encode())
	link := regexp.MustCompile(`<a class="btn" href="(message\?id=[^"]*)">Open the new message</a>`).FindStringSubmatch(body)
	if answer.StatusCode != http.StatusOK || !strings.Contains(body, "Done for 1 of 1") || link == nil {
		t.Fatal(answer.StatusCode, body)
	}
	if _, body := o.ask(h, "GET", "/"+link[1], ""); !strings.Contains(body, "zinnober@new.example") || !strings.Contains(body, " in place of "+rows[0].MessageID) {
		t.Error(body)
	}
	all, _, err := o.out.Support().Messages(o.Context(), "north", canary+hostile[:5], storage.Page{})
	o.must(err)
	if len(all) != 2 || all[0].Address == all[1].Address {
		t.Errorf("%+v", all)
	}
}
