package supporthttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
)

// Each route of the router against each right: nobody is let in who has none, only those
// who may act change anything, and the table forgets no route.
func TestEveryRouteIsRefusedWithoutItsRight(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	routes := supporthttp.Routes()
	if len(routes) != len(o.requests()) {
		t.Errorf("%d routes, %d requests", len(routes), len(o.requests()))
	}
	callers := map[string]supporthttp.Caller{
		"nothing":       {Actor: "kim", Scope: "north"},
		"personal data": {Actor: "kim", Scope: "north", Personal: true, Everywhere: true},
		"reading":       {Actor: "kim", Scope: "north", Read: true},
		"another act":   {Actor: "kim", Scope: "north", Read: true, Act: []support.Action{support.Retry, support.Cancel, support.Resolve, support.Pause, support.Resume}},
		"acting":        {Actor: "kim", Scope: "north", Act: []support.Action{support.Release}},
		"everything":    everything,
	}
	for _, route := range routes {
		if answer, body := o.send(o.site(everything), route, "X-Stranger", "1"); answer.StatusCode != http.StatusUnauthorized || strings.Contains(body, canary) {
			t.Errorf("a stranger, %s: %d %s", route, answer.StatusCode, body)
		}
		for name, c := range callers {
			writes := strings.HasSuffix(route, "act")
			want := c.Read && !writes && (c.Personal || route != "GET mail") || writes && slices.Contains(c.Act, support.Release)
			answer, body := o.send(o.site(c), route)
			if ok := answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusSeeOther; ok != want || !ok && answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s, %s: %d %.200s", name, route, answer.StatusCode, body)
			}
		}
	}
	held, _, err := o.reminders.Support().Held(t.Context(), "north", automation.HeldBySupport, storage.Page{})
	if err != nil || len(held) != 1 {
		t.Errorf("something was done: %v %v", held, err)
	}
}

// Whatever is personal is left out for those who may not see it, in pages, JSON, headers
// and the log; and a sealed key leads to its row all the same.
func TestNothingPersonalIsShownWithoutTheRight(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	blind := everything
	blind.Personal, blind.Actor = false, "kim"
	h := o.site(blind)
	for _, route := range supporthttp.Routes() {
		answer, body := o.send(h, route)
		if text := body + fmt.Sprint(answer.Header); strings.Contains(strings.ToLower(text), canary) {
			at := strings.Index(strings.ToLower(text), canary)
			t.Errorf("%s: %s", route, text[max(0, at-200):min(len(text), at+100)])
		}
		if answer.StatusCode >= 400 && route != "GET mail" {
			t.Errorf("%s: %d %s", route, answer.StatusCode, body)
		}
	}
	if strings.Contains(o.logs.String(), canary) {
		t.Error(o.logs.String())
	}
	_, body := o.ask(h, "GET", "/api/v1/waiting?table=automation_scheduler&reason=HeldBySupport", "")
	key := regexp.MustCompile(`"key":"(~[^"]+)"`).FindStringSubmatch(body)
	if key == nil {
		t.Fatal(body)
	}
	answer, body := o.ask(h, "GET", "/api/v1/story?key="+key[1], "")
	if answer.StatusCode != http.StatusOK || !strings.Contains(body, "HeldBySupport") {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	answer, body = o.ask(h, "POST", "/api/v1/act", fmt.Sprintf(`{"action":"Release","targets":[{"kind":"Reminder","key":%q}],"reason":"a call"}`, key[1]))
	if answer.StatusCode != http.StatusOK || !strings.Contains(body, `"done":1`) || strings.Contains(body, canary) {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	_, body = o.ask(o.site(everything), "GET", "/api/v1/story?person="+person, "")
	for _, shown := range []string{address, o.reminder, "zinnober-actor", `"actor":"kim","detail":"a call"`} {
		if !strings.Contains(body, shown) {
			t.Errorf("with the right %s is not shown", shown)
		}
	}
}

// What the host said of an end is shown in the place of the reason, to those who may see it.
func TestTheHostsWordsAreForThoseWhoMaySeeThem(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.clk.Set(time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC))
	blind := everything
	blind.Personal = false
	const withdrawn, reason = "withdrawn on 1 March 2026, 08:00 UTC", ", since its source changed (Superseded)"
	for path, words := range map[string]string{
		"/api/v1/verdict?type=certificate&person=": withdrawn + `: \u003cscript`,
		"/story?person=": withdrawn + ": &lt;script",
	} {
		if _, body := o.ask(o.site(everything), "GET", path+person, ""); !strings.Contains(body, words) || strings.Contains(body, withdrawn+reason) {
			t.Errorf("%s: %s", path, body)
		}
		if _, body := o.ask(o.site(blind), "GET", path+person, ""); strings.Contains(body, words) || !strings.Contains(body, withdrawn+reason) {
			t.Errorf("without the right, %s: %s", path, body)
		}
	}
}

// Whoever fails, the host's hook or the database, may say whom it was asked about. The log
// says who failed, and nothing of that; nor does the answer.
func TestTheTextOfAFailureIsLoggedNowhere(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	failing := errors.New(hostile)
	spy := &storetest.Spy{Store: o.store}
	out := notify.New(spy, nil)
	for name, c := range map[string]struct {
		of     support.Options
		path   string
		failed error // of the database
		logged string
	}{
		"the directory": {of: support.Options{Directory: func(context.Context, support.Scope, string) ([]support.Person, error) { return nil, failing }},
			path: "search", logged: "the host's Directory failed"},
		"the entities": {of: support.Options{Automation: o.reminders, Entities: func(context.Context, support.Scope, string) ([]automation.Source, error) { return nil, failing }},
			path: "story?person=", logged: "the host's Entities failed"},
		"the database":              {of: support.Options{Notify: out}, path: "story?person=", failed: failing, logged: "an error of type *errors.errorString"},
		"the database, with a code": {of: support.Options{Notify: out}, path: "story?person=", failed: coded{failing}, logged: "SQLSTATE 22021"},
		"the database is away":      {of: support.Options{Notify: out}, path: "story?person=", failed: fmt.Errorf("%w: %w", storage.ErrUnavailable, failing), logged: "storage: unavailable"},
	} {
		spy.SetHook(func(storetest.Call) error { return c.failed })
		c.of.Store = spy
		for _, page := range []string{"/api/v1/", "/"} {
			o.logs.Reset()
			o.desk = support.New(c.of)
			h := o.site(everything)
			answer, body := o.ask(h, "GET", page+c.path+person, "")
			switch {
			case c.path == "search" && page == "/":
				answer, _ = o.ask(h, "POST", "/search", "q="+person)
				answer, body = o.ask(h, "GET", "/"+answer.Header.Get("Location"), "")
			case c.path == "search":
				answer, body = o.ask(h, "POST", page+c.path, `{"q":"`+person+`"}`)
			}
			if answer.StatusCode != http.StatusServiceUnavailable || strings.Contains(body, "alert") {
				t.Errorf("%s, %s: %d %s", name, page, answer.StatusCode, body)
			}
			if log := o.logs.String(); !strings.Contains(log, c.logged) || strings.Contains(log, canary) {
				t.Errorf("%s, %s: %s", name, page, log)
			}
		}
	}
}

// A message that is asked for alone has its body as it was sent, as text, for those who may
// see it; lists have none.
func TestAMessageIsShownAsItWasSent(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	blind := everything
	blind.Personal = false
	for name, h := range map[string]http.Handler{"with the right": o.site(everything), "without": o.site(blind)} {
		of := "?message=" + url.QueryEscape(o.messageID)
		_, page := o.ask(h, "GET", "/story"+of, "")
		_, api := o.ask(h, "GET", "/api/v1/story"+of, "")
		may := name == "with the right"
		if got := strings.Contains(page, `<iframe sandbox="" src="mail?id=`+o.messageID) && strings.Contains(page, "&lt;script&gt;alert(&#34;zinnober&#34;)"); got != may {
			t.Errorf("%s: %s", name, page)
		}
		mail, html := o.ask(h, "GET", "/mail?id="+url.QueryEscape(o.messageID), "")
		if got := mail.StatusCode == http.StatusOK && html == hostile; got != may || !may && strings.Contains(html, canary) {
			t.Errorf("%s: %d %s", name, mail.StatusCode, html)
		}
		if policy := mail.Header.Get("Content-Security-Policy"); may && (!strings.HasPrefix(policy, "default-src 'none';") || !strings.Contains(policy, "; sandbox;") || strings.Contains(policy, "script-src")) {
			t.Error(policy)
		}
		if got := strings.Contains(api, `"text":`); got != may || !may && strings.Contains(api, canary) {
			t.Errorf("%s: %s", name, api)
		}
		if _, list := o.ask(h, "GET", "/api/v1/messages", ""); strings.Contains(list, `"text":`) {
			t.Errorf("%s: %s", name, list)
		}
	}
}

// coded is an error as a database's driver has it.
type coded struct{ error }

func (coded) SQLState() string { return "22021" }

// What is another tenant's is answered as what is not there: ids, keys, sealed keys, places.
func TestAnotherTenantsRowsAreAsIfTheyWereNot(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	one := everything
	one.Everywhere, one.Scope, one.Personal = false, "west", false
	west := o.site(one)
	_, body := o.ask(o.site(supporthttp.Caller{Scope: "north", Read: true}), "GET", "/api/v1/story?person="+person, "")
	sealedKey := regexp.MustCompile(`"key":"(~[^"]+)"`).FindStringSubmatch(body)[1]
	_, missing := o.ask(west, "GET", "/api/v1/story?key=nothing", "")
	for name, query := range map[string]string{
		"a reminder's key": "key=" + url.QueryEscape(o.reminder), "a message's id": "message=" + o.messageID, "the provider's id": "provider=p-1",
		"a link's id": "key=" + o.link, "a sealed key": "key=" + sealedKey, "a sealed place": "person=x&after=" + sealedKey, "a forged one": "key=~AAAA",
	} {
		for _, page := range []string{"/api/v1/story?", "/story?"} {
			answer, body := o.ask(west, "GET", page+query, "")
			if answer.StatusCode != http.StatusNotFound || page == "/api/v1/story?" && body != missing {
				t.Errorf("%s: %d %s", name, answer.StatusCode, body)
			}
		}
	}
	for _, kind := range []support.Kind{support.KindReminder, support.KindMessage, support.KindLink} {
		key := map[support.Kind]string{support.KindReminder: o.reminder, support.KindMessage: o.message, support.KindLink: o.link}[kind]
		body, err := json.Marshal(map[string]any{"action": "Cancel", "reason": "r", "targets": []map[string]any{{"kind": kind, "key": key}, {"kind": kind, "key": "nothing"}}})
		o.must(err)
		_, text := o.ask(west, "POST", "/api/v1/act", string(body))
		var got struct {
			Done    int `json:"done"`
			Targets []struct {
				Refused string `json:"refused"`
			} `json:"targets"`
		}
		o.must(json.Unmarshal([]byte(text), &got))
		if got.Done != 0 || len(got.Targets) != 2 || got.Targets[0] != got.Targets[1] {
			t.Errorf("%s: %s", kind, text)
		}
	}
	for _, query := range []string{"tenant=north", "tenant=nobody", "everywhere=true"} {
		if answer, body := o.ask(west, "GET", "/api/v1/needs?"+query, ""); answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d %s", query, answer.StatusCode, body)
		}
	}
	answer, body := o.ask(o.site(everything), "GET", "/api/v1/story?tenant=south&key="+url.QueryEscape(o.reminder), "")
	if answer.StatusCode != http.StatusOK {
		t.Errorf("who may: %d %s", answer.StatusCode, body)
	}
	everyWhere := `{"action":"Pause","targets":[{"part":{"domain":"notify","everywhere":true}}],"reason":"r"}`
	if answer, body := o.ask(west, "POST", "/api/v1/act", everyWhere); answer.StatusCode != http.StatusForbidden {
		t.Errorf("a pause of all tenants: %d %s", answer.StatusCode, body)
	}
}

// A request that cannot be meant is a problem that says what is wrong, and does nothing.
func TestWhatCannotBeMeantIsAProblem(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	for _, c := range []struct {
		method, target, body string
		headers              []string
		want                 int
	}{
		{"GET", "/api/v1/story", "", nil, 422},
		{"GET", "/api/v1/story?person=a&key=b", "", nil, 422},
		{"GET", "/api/v1/story?method=email&address=nowhere", "", nil, 422},
		{"GET", "/api/v1/story?person=%00", "", nil, 422},
		{"GET", "/api/v1/story?person=%zz", "", nil, 400},
		{"GET", "/api/v1/verdict?person=a", "", nil, 422},
		{"GET", "/api/v1/waiting?table=audit_entry&reason=x", "", nil, 422},
		{"GET", "/api/v1/nothing", "", nil, 404},
		{"GET", "/nothing", "", nil, 404},
		{"POST", "/api/v1/story", "{}", nil, 405},
		{"DELETE", "/api/v1/act", "", nil, 405},
		{"GET", "/act", "", nil, 405},
		{"POST", "/api/v1/act", "action=Release", nil, 415},
		{"POST", "/act", "{}", nil, 415},
		{"POST", "/api/v1/act", "{", nil, 400},
		{"POST", "/api/v1/act", `{"action":"Release","targets":[],"reason":"r"}`, nil, 422},
		{"POST", "/api/v1/act", `{"action":"Release","targets":[{"kind":"Reminder","key":"k"}]}`, nil, 400},
		{"POST", "/api/v1/act", `{"action":"Release","targets":[{"kind":"Reminder","key":"k"}],"reason":""}`, nil, 422},
		{"POST", "/api/v1/act", `{"action":"Release","targets":[{"kind":"Inbox","key":"k"}],"reason":"r"}`, nil, 422},
		{"POST", "/api/v1/act", `{"action":"Resolve","targets":[{"kind":"Message","key":"k"}],"reason":"r"}`, nil, 422},
		{"POST", "/api/v1/act", `{"action":"Explode","targets":[],"reason":"r"}`, nil, 403},
		{"POST", "/api/v1/act", `{"action":"Release","unknown":1}`, nil, 400},
		{"POST", "/api/v1/act", `{"action":"Release"}`, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", "/act", "action=Release", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", "/act", "action=Release&confirm=yes&reason=r&target=Reminder+x", []string{"Origin", "https://evil.example"}, 403},
	} {
		answer, body := o.ask(h, c.method, c.target, c.body, c.headers...)
		if answer.StatusCode != c.want {
			t.Errorf("%s %s %s: %d, not %d: %s", c.method, c.target, c.body, answer.StatusCode, c.want, body)
		}
		if media := answer.Header.Get("Content-Type"); strings.Contains(c.target, "/api/") && media != "application/problem+json" {
			t.Errorf("%s: %s", c.target, media)
		}
	}
}

// A page runs nothing, loads nothing but its style, and shows hostile text as text.
func TestPagesShowHostileTextAsText(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	forbidden := regexp.MustCompile(`(?i)<script|<img|<iframe|<style|<[^>]*\sstyle=|<[^>]*\son[a-z]+=|<[^>]*\ssrc=`)
	leads := regexp.MustCompile(`(?i)(href|action|src)="(/|[a-z]+:)`)
	values := regexp.MustCompile(`"[^"]*"`)
	for _, route := range supporthttp.Routes() {
		if strings.Contains(route, "api/") || strings.Contains(route, "css") || strings.Contains(route, "search") || strings.Contains(route, "csv") || route == "GET mail" {
			continue
		}
		answer, body := o.send(h, route)
		if route == "GET message" { // its one frame is sandboxed, and shows what has a policy of its own
			body = strings.Replace(body, `<iframe sandbox="" src="mail?id=`, `<p id="`, 1)
		}
		if found := forbidden.FindString(values.ReplaceAllString(strings.ReplaceAll(body, "<bdi>", ""), `""`)) + leads.FindString(body); found != "" {
			t.Errorf("%s has %s", route, found)
		}
		if policy := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %s", route, policy)
		}
		if answer.Header.Get("Cache-Control") != "no-store" || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", route, answer.Header)
		}
	}
	_, body := o.send(h, "GET story")
	for _, text := range []string{"&lt;script&gt;alert(&#34;zinnober&#34;)", "t is unknown whether it was sent", "certificate, 30 days before 2026-05-01", "reasons#HeldBySupport"} {
		if !strings.Contains(body, text) {
			t.Errorf("the story has no %q", text)
		}
	}
}

// The console works wherever a host mounts it: every link of every page leads to a page.
func TestTheConsoleWorksUnderAnyPath(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	for prefix, mounted := range map[string]http.Handler{
		"/": h, "/support/": h, "/a/b/support/": http.StripPrefix("/a/b/support", h), "/api/v2/": h,
	} {
		mux := http.NewServeMux()
		mux.Handle(prefix, mounted)
		todo, seen := []string{prefix, prefix + "story?person=" + person}, map[string]bool{}
		for len(todo) > 0 && len(seen) < 60 {
			at := todo[0]
			todo = todo[1:]
			if seen[at] {
				continue
			}
			seen[at] = true
			answer, body := o.ask(mux, "GET", at, "")
			if answer.StatusCode != http.StatusOK {
				t.Errorf("%s: %d", at, answer.StatusCode)
			}
			base, err := url.Parse(at)
			o.must(err)
			for _, link := range regexp.MustCompile(`(?:href|action)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
				to, err := base.Parse(strings.ReplaceAll(link[1], "&amp;", "&"))
				o.must(err)
				if to.Fragment = ""; strings.HasSuffix(to.Path, "/act") || strings.HasSuffix(to.Path, "/search") || to.Path == base.Path && to.RawQuery == "" {
					continue
				}
				if !strings.HasPrefix(to.Path, prefix) {
					t.Errorf("%s leads to %s", at, to)
				}
				todo = append(todo, to.String())
			}
		}
		if len(seen) < 8 {
			t.Errorf("%s: %v", prefix, seen)
		}
	}
	answer, _ := o.ask(http.StripPrefix("/support", h), "GET", "/support", "")
	if answer.StatusCode != http.StatusPermanentRedirect || answer.Header.Get("Location") != "support/" {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
}

// What is searched for is posted, and stands in an address sealed; so does an address that a
// link leads to. No page and no answer of the API has one in an address, nor takes one there.
func TestNoAddressOfAPageHasPersonalData(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	_, err := o.out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
		Scope: "north", Channel: "email:test", PartitionKey: "nameless", NotificationType: "news", Address: address, Content: notify.Content{Subject: "News"},
	})
	o.must(err)
	blind := everything
	blind.Personal = false
	for name, c := range map[string]supporthttp.Caller{"with the right": everything, "without": blind} {
		h := o.site(c)
		shown := func(text string) {
			t.Helper()
			for _, part := range append(regexp.MustCompile(`(?:href|action|src)="([^"]*)"`).FindAllStringSubmatch(text, -1), regexp.MustCompile(`^([^<]*)$`).FindAllStringSubmatch(text, -1)...) {
				if plain, err := url.QueryUnescape(part[1]); err != nil || strings.Contains(plain, "@") {
					t.Errorf("%s: %s", name, part[1])
				}
			}
		}
		answer, _ := o.ask(h, "POST", "/search", url.Values{"q": {address}}.Encode())
		to := answer.Header.Get("Location")
		if answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "search?q=~") && !strings.HasPrefix(to, "search?q=%7E") {
			t.Fatal(name, answer.StatusCode, to)
		}
		shown(to)
		_, found := o.ask(h, "GET", "/"+to, "")
		shown(found)
		if !strings.Contains(found, "<h1>2 found</h1>") || strings.Contains(found, address) != c.Personal {
			t.Error(name, found)
		}
		link := regexp.MustCompile(`href="(story\?address=[^"]*)"`).FindStringSubmatch(found)
		if link == nil {
			t.Fatal(name, found)
		}
		_, story := o.ask(h, "GET", "/"+strings.ReplaceAll(link[1], "&amp;", "&"), "")
		shown(story)
		if !strings.Contains(story, `<h2 id="past">What happened</h2>`) || strings.Contains(story, "<h1><bdi>"+address+"</bdi></h1>") != c.Personal {
			t.Error(name, story)
		}
		for _, page := range []string{"/", "/messages", "/story?person=" + person, "/list?of=audit"} {
			_, body := o.ask(h, "GET", page, "")
			shown(body)
		}
		_, api := o.ask(h, "POST", "/api/v1/search", `{"q":"`+address+`"}`)
		sealed := regexp.MustCompile(`"method":"email","address":"(~[^"]*)"`).FindStringSubmatch(api)
		if sealed == nil {
			t.Fatal(name, api)
		}
		if _, told := o.ask(h, "GET", "/api/v1/story?method=email&address="+sealed[1], ""); !strings.Contains(told, `"kind":"Message"`) {
			t.Error(name, told)
		}
	}
	h := o.site(everything)
	for _, path := range []string{"/search?q=" + address, "/story?method=email&address=" + address, "/api/v1/story?method=email&address=" + address} {
		if answer, _ := o.ask(h, "GET", path, ""); answer.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
	}
	if answer, _ := o.ask(h, "GET", "/search", ""); answer.StatusCode != http.StatusOK {
		t.Error(answer.StatusCode)
	}
}

// By the pages alone: a person is found, the action is rehearsed, done with a reason, and
// told in the story with whoever did it.
func TestAnActionIsRehearsedThenDoneThenTold(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	answer, _ := o.ask(h, "POST", "/search", url.Values{"q": {o.reminder}}.Encode())
	answer, _ = o.ask(h, "GET", "/"+answer.Header.Get("Location"), "")
	if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "story?") {
		t.Fatal(answer.StatusCode, to)
	}
	form := url.Values{"action": {"Release"}, "target": {"Reminder " + o.reminder}, "back": {"story?person=" + person}}
	_, body := o.ask(h, "POST", "/act", form.Encode())
	if !strings.Contains(body, "<h1><bdi>Release “certificate, 30 days before 2026-05-01” for zinnober-ref</bdi></h1>") || !strings.Contains(body, "comes on 1 April 2026, 09:00 UTC") {
		t.Error(body)
	}
	held := func() int {
		rows, _, err := o.reminders.Support().Held(t.Context(), "north", automation.HeldBySupport, storage.Page{})
		o.must(err)
		return len(rows)
	}
	if held() != 1 {
		t.Error("the rehearsal did it")
	}
	form.Set("confirm", "yes")
	answer, body = o.ask(h, "POST", "/act", form.Encode())
	if answer.StatusCode != http.StatusUnprocessableEntity || held() != 1 || !strings.Contains(body, "Say why.") || !strings.Contains(body, `aria-invalid="true"`) || !strings.Contains(body, `name="target" value="Reminder `) {
		t.Error("without a reason: ", answer.StatusCode, held(), body)
	}
	form.Set("reason", "Ms Jones called")
	_, body = o.ask(h, "POST", "/act", form.Encode())
	if !strings.Contains(body, "Done for 1 of 1") || held() != 0 {
		t.Error(held(), body)
	}
	_, body = o.ask(h, "GET", "/story?person="+person, "")
	if !strings.Contains(body, "by <bdi>kim</bdi>: <q><bdi>Ms Jones called</bdi></q>") {
		t.Error("the story does not tell who did it: ", body)
	}
	_, body = o.ask(h, "GET", "/list?of=audit", "")
	if !strings.Contains(body, `<span class="sub">by <bdi>kim</bdi>: <q><bdi>Ms Jones called</bdi></q></span>`) || strings.Contains(body, `</svg>Arrived`) {
		t.Error("the audit does not tell who did it, and why: ", body)
	}
	for _, back := range []string{"https://evil.example/", "//evil.example", "javascript:alert(1)", "story%"} {
		form.Set("back", back)
		if _, body := o.ask(h, "POST", "/act", form.Encode()); strings.Contains(body, "evil") || strings.Contains(body, "javascript:") {
			t.Errorf("%s: %s", back, body)
		}
	}
}

// The desk's site is never made without somebody who says who is calling.
func TestThereIsNoSiteWithoutAnAuthoriser(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	who := func(*http.Request) (supporthttp.Caller, error) { return everything, nil }
	for name, f := range map[string]func(){
		"no authoriser": func() { supporthttp.New(o.desk, supporthttp.Options{}) },
		"no desk":       func() { supporthttp.New(nil, supporthttp.Options{Authorise: who}) },
		"a short key":   func() { supporthttp.New(o.desk, supporthttp.Options{Authorise: who, Key: []byte("short")}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(name)
				}
			}()
			f()
		}()
	}
}

// Pages of others are found under their names at any mount, are in the navigation, and let
// nobody in who may not read.
func TestPagesOfOthersAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	other := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %q", r.URL.Path, r.URL.RawQuery, w.Header().Get("Content-Security-Policy"))
	})
	for _, c := range []struct {
		caller supporthttp.Caller
		path   string
		status int
		says   string
	}{
		{supporthttp.Caller{Read: true}, "/support/pages/previews/1/html?locale=ar", http.StatusOK, `/1/html locale=ar ""`},
		{supporthttp.Caller{Read: true}, "/pages/a/support/pages/previews/", http.StatusOK, `/  ""`},
		{supporthttp.Caller{Read: true}, "/support/", http.StatusOK, `<a href="pages/previews/">Previews</a>`},
		{supporthttp.Caller{Read: true}, "/support/pages/previews", http.StatusNotFound, ""},
		{supporthttp.Caller{Read: true}, "/previews/support/", http.StatusOK, "needs attention"},
		{supporthttp.Caller{Act: support.Actions()}, "/support/pages/previews/", http.StatusForbidden, ""},
	} {
		h := supporthttp.New(o.desk, supporthttp.Options{
			Authorise: func(*http.Request) (supporthttp.Caller, error) { return c.caller, nil }, Pages: map[string]http.Handler{"previews": other},
		})
		w := httptest.NewRecorder()
		w.Header().Set("X-Of-The-Host", "stays")
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.path, nil))
		if w.Code != c.status || w.Header().Get("X-Of-The-Host") == "" || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %.300s", c.path, w.Code, w.Body)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a name that is not a part of a path was taken")
		}
	}()
	supporthttp.New(o.desk, supporthttp.Options{
		Authorise: func(*http.Request) (supporthttp.Caller, error) { return everything, nil }, Pages: map[string]http.Handler{"a/b": other},
	})
}
