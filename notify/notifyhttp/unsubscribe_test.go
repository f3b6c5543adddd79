package notifyhttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage"
)

// mailing is a host that has sent a newsletter to Sam.
type mailing struct {
	*testing.T
	n    *notify.Notifier
	link string // in the mail

	client *http.Client
	mux    *http.ServeMux
}

func mailings(t *testing.T, test func(m mailing)) { mailingsOf(t, "", nil, test) }

// grouped are mailings whose newsletters belong to a group.
func grouped(t *testing.T, test func(m mailing)) {
	mailingsOf(t, "marketing", []notify.Group{{Name: "marketing", Title: "Offers & news"}, {Name: "reminders"}}, test)
}

func mailingsOf(t *testing.T, group string, groups []notify.Group, test func(m mailing)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		var handler http.Handler
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
		t.Cleanup(server.Close)
		m := mailing{T: t, client: server.Client()}
		channel := channel.Func("email:test", func(_ context.Context, sent channel.Message) (channel.Receipt, error) {
			m.link = sent.UnsubscribeURL
			return channel.Receipt{}, nil
		})
		m.n = notify.New(store, &notify.Options{
			Unsubscribe: &notify.UnsubscribeOptions{URL: server.URL + "/unsubscribe", Key: []byte(strings.Repeat("k", 32))},
			Groups:      groups,
		}, channel)
		m.mux = http.NewServeMux()
		m.mux.Handle("/unsubscribe/", notifyhttp.Unsubscribe(m.n))
		handler = m.mux
		_, err := m.n.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
			Scope: "tenant", Channel: "email:test", PartitionKey: "job", NotificationType: "newsletter", Group: group,
			RecipientRef: "sam", Address: "sam@example.com",
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.n.Passes() {
			if _, err := p.Runner(work.Options{}).Poll(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
		}
		test(m)
	})
}

func (m mailing) do(method, link, form string) (status int, page string, header http.Header) {
	m.Helper()
	req, err := http.NewRequestWithContext(m.Context(), method, link, strings.NewReader(form))
	if err != nil {
		m.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := m.client.Do(req)
	if err != nil {
		m.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		m.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

// wishes are what is stored of Sam, as "type method" or "group name method".
func (m mailing) wishes() (out []string) {
	m.Helper()
	all, err := m.n.Contacts().Preferences(m.Context(), "tenant", "sam")
	if err != nil {
		m.Fatal(err)
	}
	for _, p := range all {
		if p.OptedOut {
			about := p.Type
			if p.Group != "" {
				about = "group " + p.Group
			}
			out = append(out, about+" "+p.Method)
		}
	}
	return out
}

// Mail scanners open links: a GET, and a HEAD, change nothing.
func TestAnUnsubscribeLinkThatIsOpenedChangesNothing(t *testing.T) {
	mailings(t, func(m mailing) {
		status, page, header := m.do("GET", m.link, "")
		if status != 200 || !strings.Contains(page, `<html lang="en">`) || strings.Count(page, "<button") != 2 || !strings.Contains(page, "<h1>Unsubscribe</h1>") {
			m.Error(status, page)
		}
		if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || header.Get("Referrer-Policy") != "no-referrer" || header.Get("Cache-Control") != "no-store" {
			m.Error(header)
		}
		if status, _, _ := m.do("HEAD", m.link, ""); status != 200 {
			m.Error(status)
		}
		if status, _, _ := m.do("PUT", m.link, "what=all"); status != 405 {
			m.Error(status)
		}
		if got := m.wishes(); got != nil {
			m.Error(got)
		}
	})
}

func TestAPostUnsubscribes(t *testing.T) {
	for name, c := range map[string]struct{ form, want string }{
		"with one click":    {"List-Unsubscribe=One-Click", "newsletter email"},
		"the first button":  {"what=group", "newsletter email"},
		"the second button": {"what=all", " email"},
	} {
		t.Run(name, func(t *testing.T) {
			mailings(t, func(m mailing) {
				for range 2 {
					if status, page, _ := m.do("POST", m.link, c.form); status != 200 || !strings.Contains(page, "Your choice is stored") {
						m.Error(status, page)
					}
				}
				if got := m.wishes(); len(got) != 1 || got[0] != c.want {
					m.Errorf("wishes %q, want %q", got, c.want)
				}
			})
		})
	}
}

// Nobody learns from the answer whether a message exists.
func TestALinkThatIsNoneHasOnePage(t *testing.T) {
	mailings(t, func(m mailing) {
		u, err := url.Parse(m.link)
		if err != nil {
			m.Fatal(err)
		}
		token := u.Path[strings.LastIndexByte(u.Path, '/')+1:]
		_, want, _ := m.do("GET", strings.Replace(m.link, token, "x", 1), "")
		if !strings.Contains(want, "This link is not valid") || strings.Contains(want, "<form") {
			m.Fatal(want)
		}
		for _, bad := range []string{"", token + "x", token[1:], strings.Repeat("0", 32) + token[32:], strings.Repeat("y", 400), "%00.x", "<script>"} {
			link := strings.Replace(m.link, token, bad, 1)
			for _, method := range []string{"GET", "POST"} {
				if status, page, _ := m.do(method, link, "List-Unsubscribe=One-Click"); status != 404 || page != want {
					m.Errorf("%s %q: %d %s", method, bad, status, page)
				}
			}
		}
		for form, status := range map[string]int{"what=nothing": 400, "List-Unsubscribe=Two": 400, "what=all&x=" + strings.Repeat("x", 70<<10): 400} {
			if got, _, _ := m.do("POST", m.link, form); got != status {
				m.Errorf("%.40s: %d", form, got)
			}
		}
		if got := m.wishes(); got != nil {
			m.Error(got)
		}
	})
}

// The page offers the other groups, and says which of them are wanted.
func TestThePageOffersTheOtherGroups(t *testing.T) {
	grouped(t, func(m mailing) {
		_, page, _ := m.do("GET", m.link, "")
		for _, want := range []string{`value="group">Offers &amp; news<`, `value="marketing" checked> Offers &amp; news<`, `value="reminders" checked> reminders<`} {
			if !strings.Contains(page, want) {
				m.Errorf("%s is not in the page:\n%s", want, page)
			}
		}
		if status, _, _ := m.do("POST", m.link, "List-Unsubscribe=One-Click"); status != 200 {
			m.Error(status)
		}
		if got := m.wishes(); len(got) != 1 || got[0] != "group marketing email" {
			m.Errorf("after one click: %q", got)
		}
		if _, page, _ = m.do("GET", m.link, ""); strings.Contains(page, `value="marketing" checked`) || !strings.Contains(page, `value="reminders" checked`) {
			m.Error(page)
		}
		if status, _, _ := m.do("POST", m.link, "what=choose&group=marketing&group=unknown"); status != 200 {
			m.Error(status)
		}
		if got := m.wishes(); len(got) != 1 || got[0] != "group reminders email" {
			m.Errorf("after the choice: %q", got)
		}
	})
}

// Mail programs send the one click as a form, as plain text, without a type, or without
// a body.
func TestAOneClickIsOneHoweverItIsSent(t *testing.T) {
	for name, c := range map[string]struct{ media, body string }{
		"with a charset":      {"application/x-www-form-urlencoded; charset=UTF-8", "List-Unsubscribe=One-Click"},
		"with a line break":   {"application/x-www-form-urlencoded", "List-Unsubscribe=One-Click\r\n"},
		"in parts":            {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n"},
		"as text":             {"text/plain", "List-Unsubscribe=One-Click"},
		"without a type":      {"", "List-Unsubscribe=One-Click"},
		"without a body":      {"", ""},
		"a form without body": {"application/x-www-form-urlencoded", ""},
	} {
		t.Run(name, func(t *testing.T) {
			mailings(t, func(m mailing) {
				for _, handler := range []http.Handler{notifyhttp.Unsubscribe(m.n), notifyhttp.Preferences(m.n, nil)} {
					r := httptest.NewRequest(http.MethodPost, m.link, strings.NewReader(c.body))
					r.Header.Set("Content-Type", c.media)
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, r)
					if got := m.wishes(); w.Code != http.StatusOK || len(got) != 1 || got[0] != "newsletter email" {
						m.Errorf("%d, opted out of %q", w.Code, got)
					}
					if err := m.n.Contacts().SetPreferences(m.Context(), notify.Preference{Scope: "tenant", RecipientRef: "sam", Type: "newsletter", Method: "email"}); err != nil {
						m.Fatal(err)
					}
				}
			})
		})
	}
}
