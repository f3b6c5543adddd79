package browsertest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage/memory"
)

// choices is a page of preferences, and what is stored of its reader.
type choices struct {
	t   *testing.T
	out *notify.Notifier
	url string
}

// preferences sends a mail to Sam, and serves the page of its link.
func preferences(t *testing.T) choices {
	t.Helper()
	store, link := memory.New(nil), ""
	out := notify.New(store, &notify.Options{
		Unsubscribe: &notify.UnsubscribeOptions{URL: "https://host.example/p", Key: bytes.Repeat([]byte("k"), 32)},
		Groups:      []notify.Group{{Name: "offers", Title: "Offers & <news>"}, {Name: "reminders", Title: "Reminders"}},
	}, channel.Func("email:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		link = m.UnsubscribeURL
		return channel.Receipt{}, nil
	}))
	_, err := out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
		Channel: "email:test", PartitionKey: "1", NotificationType: "news", Group: "offers", RecipientRef: "sam", Address: "sam@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if err := belfry.NewPoller(store, nil, out).Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/p/", notifyhttp.Preferences(out, &notifyhttp.PreferencesOptions{Methods: []string{"email", "sms"}}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	u, err := url.Parse(link)
	if err != nil || link == "" {
		t.Fatal(link, err)
	}
	return choices{t, out, server.URL + u.Path}
}

// stored are Sam's opt-outs, as "group method".
func (c choices) stored() string {
	c.t.Helper()
	all, err := c.out.Contacts().Preferences(c.t.Context(), "", "sam")
	if err != nil {
		c.t.Fatal(err)
	}
	var out []string
	for _, p := range all {
		if p.OptedOut {
			out = append(out, p.Group+" "+p.Method)
		}
	}
	return strings.Join(out, ", ")
}

// A reader opens the page, which changes nothing, takes the second box away, and stores
// that: on three screens, from left to right and from right to left, by keyboard alone,
// with and without JavaScript.
func TestAReaderChoosesWhatToGet(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{360, 768, 1280} {
		for _, lang := range []string{"en", "de", "es", "fr", "vi", "ar"} {
			for _, script := range []bool{true, false} {
				if script && lang != "en" {
					continue // the page has none
				}
				name := fmt.Sprintf("preferences-%d-%s-script-%v", width, lang, script)
				t.Run(name, func(t *testing.T) {
					at := preferences(t)
					c := customer{t, browse(t, window{width, 900, script}), script}
					do(c.ctx, t, chromedp.Navigate(at.url+"?lang="+lang))
					c.sight(name + "-1")
					if got := at.stored(); got != "" {
						t.Errorf("opening the page stores %q", got)
					}
					if got, want := eval[string](c.ctx, t, `document.documentElement.dir`), map[bool]string{true: "rtl", false: "ltr"}[lang == "ar"]; got != want {
						t.Errorf("the page goes %s", got)
					}
					c.tabTo("INPUT")
					c.tabTo("INPUT")
					c.press(" ")
					c.submit()
					c.sight(name + "-2")
					if got := at.stored(); got != "offers sms" {
						t.Errorf("stored is %q", got)
					}
					if !eval[bool](c.ctx, t, `document.querySelector("[role=status]") !== null && document.documentElement.lang === "`+lang+`"`) {
						t.Error("the page does not say that it is stored, or forgets its language")
					}
				})
			}
		}
	}
}

// sight checks and photographs a page that has no labels of the survey's.
func (c customer) sight(name string) {
	c.Helper()
	accessible(c.ctx, c.T, name, c.script)
	fits(c.ctx, c.T, name)
	if out := eval[[]string](c.ctx, c.T, `[...document.querySelectorAll("main *")].filter(e => { const r = e.getBoundingClientRect(); return r.left < 0 || r.right > document.documentElement.clientWidth }).map(e => e.outerHTML)`); len(out) > 0 {
		c.Errorf("%s: out of the window: %s", name, out)
	}
	if touching := eval[int](c.ctx, c.T, `[...document.querySelectorAll("label ~ label")].filter(e => parseFloat(getComputedStyle(e).marginBlockStart) === 0).length`); touching > 0 {
		c.Errorf("%s: %d boxes touch those before them", name, touching)
	}
	picture(c.ctx, c.T, name)
}

// hostile is what a message may hold, and must stay.
const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>"'&amp;`

// inboxes is a host's page with the element, under a strict policy, and its inbox.
func inboxes(t *testing.T) (*notify.Notifier, string) {
	t.Helper()
	out := notify.New(memory.New(nil), nil)
	for i, subject := range []string{"first", hostile} {
		_, err := out.EnsureUserMessage(t.Context(), nil, notify.UserMessage{Type: "room", PartitionKey: "user:ada", JobRowKey: fmt.Sprint(i), JobPartitionKey: "class",
			SourceOn: time.Date(2026, 3, 1, 8, i, 0, 0, time.UTC), Content: notify.Content{Subject: subject, Text: hostile, HTML: hostile}})
		if err != nil {
			t.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/inbox/", http.StripPrefix("/inbox", notifyhttp.Inbox(out, func(*http.Request) (notifyhttp.Caller, error) { return notifyhttp.Caller{Inbox: "user:ada"}, nil })))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; connect-src 'self'")
		_, _ = w.Write([]byte(`<!DOCTYPE html><html lang="en"><head><meta name="viewport" content="width=device-width"><title>school</title></head>
			<body><main><h1>School</h1><belfry-inbox src="/inbox/"></belfry-inbox></main><script type="module" src="/inbox/inbox.js"></script></body></html>`))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return out, server.URL + "/"
}

// until waits until an expression on the element's content holds.
func until(ctx context.Context, t *testing.T, expression string) {
	t.Helper()
	held := eval[bool](ctx, t, `new Promise(done => {
		const root = document.querySelector("belfry-inbox").shadowRoot;
		const look = () => { if (`+expression+`) { done(true); watch.disconnect(); } };
		const watch = new MutationObserver(look);
		watch.observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
		look();
	})`, chromedp.EvalAwaitPromise)
	if !held {
		t.Fatal(expression)
	}
}

func TestTheInboxElementShowsTextAndWhatIsDoneWithIt(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{360, 1280} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			out, page := inboxes(t)
			ctx := browse(t, window{width, 900, true})
			do(ctx, t, chromedp.Navigate(page))
			until(ctx, t, `root.querySelectorAll("li").length === 2`)
			if got := eval[string](ctx, t, `document.querySelector("belfry-inbox").shadowRoot.querySelector(".subject").textContent`); got != hostile {
				t.Errorf("subject is %q", got)
			}
			if got := eval[string](ctx, t, `document.title + document.querySelector("belfry-inbox").shadowRoot.querySelectorAll("img,script,iframe").length`); got != "school0" {
				t.Errorf("a message has done something: %q", got)
			}
			accessible(ctx, t, "inbox", true)
			fits(ctx, t, "inbox")
			picture(ctx, t, fmt.Sprintf("inbox-%d", width))
			press := func(name string) {
				t.Helper()
				eval[int](ctx, t, `([...document.querySelector("belfry-inbox").shadowRoot.querySelectorAll("button")].find(b => b.textContent === "`+name+`").click(), 0)`)
			}
			press("Mark as read")
			until(ctx, t, `root.querySelector("[role=status]").textContent === "1 unread"`)
			press("Mark as unread")
			until(ctx, t, `root.querySelector("[role=status]").textContent === "2 unread"`)
			press("Until tomorrow")
			until(ctx, t, `root.querySelectorAll("li").length === 1`)
			press("Archive")
			until(ctx, t, `!root.querySelector("p[hidden]") && root.querySelectorAll("li").length === 0`)
			press("Later")
			until(ctx, t, `root.querySelectorAll("li").length === 1`)
			press("Show again")
			until(ctx, t, `root.querySelectorAll("li").length === 0`)
			press("Archived")
			until(ctx, t, `root.querySelectorAll("li").length === 1`)
			press("Move to inbox")
			until(ctx, t, `root.querySelectorAll("li").length === 0`)
			press("Inbox")
			until(ctx, t, `root.querySelectorAll("li").length === 2`)
			count, err := out.Inbox("", "user:ada").Count(t.Context())
			if err != nil || count.Unread != 2 {
				t.Error(count, err)
			}
		})
	}
}
