package notifyhttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// who takes the user from a header, as a host takes it from its session.
func who(r *http.Request) (notifyhttp.Caller, error) {
	user := r.Header.Get("User")
	if user == "" {
		return notifyhttp.Caller{}, errors.New("nobody")
	}
	return notifyhttp.Caller{Scope: "tenant", Inbox: "user:" + user}, nil
}

// app is a host's application with three messages for Sam.
type app struct {
	t   *testing.T
	url string
}

func apps(t *testing.T, test func(a app)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		n := notify.New(store, nil)
		for i := range 3 {
			at := storetest.Start.Add(time.Duration(i) * time.Minute)
			_, err := n.EnsureUserMessage(t.Context(), nil, notify.UserMessage{
				Scope: "tenant", Type: "visit", PartitionKey: "user:sam", JobRowKey: fmt.Sprint("job", i),
				JobPartitionKey: "car", Content: notify.Content{Subject: fmt.Sprint("m", i)}, SourceOn: at,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		server := httptest.NewServer(http.StripPrefix("/inbox", notifyhttp.Inbox(n, who)))
		t.Cleanup(server.Close)
		test(app{t, server.URL + "/inbox"})
	})
}

func (a app) do(method, path, user, body string, header ...string) (int, string) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("User", user)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

func (a app) want(status int, text string) func(int, string) {
	return func(gotStatus int, got string) {
		a.t.Helper()
		if diff := cmp.Diff([]any{status, text}, []any{gotStatus, got}); diff != "" {
			a.t.Error(diff)
		}
	}
}

func subjects(page string) (out []string) {
	for _, part := range strings.Split(page, `"subject":"`)[1:] {
		out = append(out, part[:2])
	}
	return out
}

func TestAnInboxIsReadPageByPageAndMarked(t *testing.T) {
	apps(t, func(a app) {
		a.want(200, `{"unseen":3,"unread":3}`)(a.do("GET", "/count", "sam", ""))
		_, first := a.do("GET", "/?limit=2", "sam", "")
		_, next, _ := strings.Cut(first, `"next":"`)
		next = strings.TrimSuffix(next, `"}`)
		_, second := a.do("GET", "/?limit=2&after="+next, "sam", "")
		if diff := cmp.Diff([]string{"m2", "m1", "m0"}, append(subjects(first), subjects(second)...)); diff != "" {
			a.t.Error(diff)
		}
		if !strings.Contains(first, `"on":"2026-03-01T08:02:00Z"`) || strings.Contains(second, "next") {
			a.t.Error(first, second)
		}
		a.want(200, `{"changed":2}`)(a.do("POST", "/mark", "sam", `{"as":"Seen","upTo":"`+next+`"}`))
		a.want(200, `{"changed":1}`)(a.do("POST", "/mark", "sam", `{"as":"Archived","ids":["`+next+`"]}`))
		a.want(200, `{"unseen":1,"unread":2}`)(a.do("GET", "/count", "sam", ""))
		_, archived := a.do("GET", "/?archived=1", "sam", "")
		if diff := cmp.Diff([]string{"m1"}, subjects(archived)); diff != "" {
			a.t.Error(diff)
		}
	})
}

func TestAPlaceThatNoPageReturnedIsTheCallersFault(t *testing.T) {
	apps(t, func(a app) {
		for _, of := range []string{"", "&archived=1", "&snoozed=1"} {
			a.want(422, `{"error":"\"after\" must be the \"next\" of a page"}`)(a.do("GET", "/?after=%00"+of, "sam", ""))
		}
	})
}

func TestI28_NobodySeesAnotherInbox(t *testing.T) {
	apps(t, func(a app) {
		a.want(200, `{"messages":[]}`)(a.do("GET", "/", "kim", ""))
		_, page := a.do("GET", "/?limit=1", "sam", "")
		_, id, _ := strings.Cut(page, `"next":"`)
		a.want(200, `{"changed":0}`)(a.do("POST", "/mark", "kim", `{"as":"Read","ids":["`+strings.TrimSuffix(id, `"}`)+`"]}`))
		for _, path := range []string{"/", "/count"} {
			a.want(401, `{"error":"not signed in"}`)(a.do("GET", path, "", ""))
		}
		a.want(200, `{"unseen":3,"unread":3}`)(a.do("GET", "/count", "sam", ""))
	})
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	apps(t, func(a app) {
		for body, want := range map[string]int{
			`{"as":"Read"}`:                                               422,
			`{"as":"Burnt","ids":["x"]}`:                                  422,
			`{"as":"Read","ids":["x"],"upTo":"y"}`:                        422,
			`{"as":"Read","ids":["a\u001fb"]}`:                            422,
			`{"as":"Read","ids":["x"],"who":"kim"}`:                       400,
			`{"as":"Read","ids":["x"]} {}`:                                400,
			`<mark/>`:                                                     400,
			`{"as":"Read","ids":["` + strings.Repeat("x", 70<<10) + `"]}`: 400,
		} {
			if status, text := a.do("POST", "/mark", "sam", body); status != want {
				a.t.Errorf("%.40s: %d %s", body, status, text)
			}
		}
		if status, _ := a.do("POST", "/mark", "sam", `{}`, "Content-Type", "text/plain"); status != 400 {
			a.t.Error("a form may send it:", status)
		}
		if status, _ := a.do("POST", "/mark", "sam", `{"as":"Seen","ids":["x"]}`, "Origin", "https://elsewhere.example", "Sec-Fetch-Site", "cross-site"); status != 403 {
			a.t.Error("another site may send it:", status)
		}
		if status, _ := a.do("GET", "/mark", "sam", ""); status != 405 {
			a.t.Error("a GET marks:", status)
		}
	})
}

func TestAnInboxNeedsItsHost(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("it works for anybody")
		}
	}()
	notifyhttp.Inbox(notify.New(memory.New(nil), nil), nil)
}

func TestAMessageIsPutOffAndTakenBack(t *testing.T) {
	apps(t, func(a app) {
		_, page := a.do("GET", "/?limit=1", "sam", "")
		_, id, _ := strings.Cut(page, `"next":"`)
		id = strings.TrimSuffix(id, `"}`)
		snooze := func(until string) string { return `{"until":"` + until + `","ids":["` + id + `"]}` }
		a.want(200, `{"changed":1}`)(a.do("POST", "/snooze", "sam", snooze("2026-03-02T09:00:00+01:00")))
		a.want(200, `{"changed":0}`)(a.do("POST", "/snooze", "kim", snooze("2026-03-03T09:00:00Z")))
		a.want(200, `{"unseen":2,"unread":2}`)(a.do("GET", "/count", "sam", ""))
		if _, later := a.do("GET", "/?snoozed=1", "sam", ""); strings.Count(later, `"subject"`) != 1 || !strings.Contains(later, `"snoozedUntil":"2026-03-02T08:00:00Z"`) {
			a.t.Error(later)
		}
		a.want(200, `{"changed":1}`)(a.do("POST", "/snooze", "sam", snooze("2026-03-01T00:00:00Z")))
		for _, as := range []string{"Read", "Unread", "Archived", "Unarchived"} {
			a.want(200, `{"changed":1}`)(a.do("POST", "/mark", "sam", `{"as":"`+as+`","ids":["`+id+`"]}`))
		}
		for body, want := range map[string]int{
			snooze("2028-03-02T09:00:00Z"): 422, snooze("soon"): 400, `{"until":"2026-03-02T09:00:00Z"}`: 422, `{"ids":["` + id + `"]}`: 422,
		} {
			if status, text := a.do("POST", "/snooze", "sam", body); status != want {
				a.t.Errorf("%s: %d %s", body, status, text)
			}
		}
		if status, _ := a.do("POST", "/mark", "sam", `{"as":"Unread","upTo":"`+id+`"}`); status != 422 {
			a.t.Error("all are made unread:", status)
		}
	})
}

// The element is for everybody, and says of a message's text nothing that a browser runs.
func TestTheElementIsServed(t *testing.T) {
	apps(t, func(a app) {
		status, script := a.do("GET", "/inbox.js", "", "")
		if status != 200 || !strings.Contains(script, `customElements.define("belfry-inbox"`) {
			a.t.Error(status, script)
		}
		for _, dangerous := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "srcdoc"} {
			if strings.Contains(script, dangerous) {
				a.t.Error("it uses", dangerous)
			}
		}
	})
}
