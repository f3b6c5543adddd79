package notifyhttp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifyhttp"
)

// choosing are mailings whose links lead to the page with methods.
func choosing(t *testing.T, test func(m mailing)) {
	grouped(t, func(m mailing) {
		m.mux.Handle("/preferences/", notifyhttp.Preferences(m.n, &notifyhttp.PreferencesOptions{Methods: []string{"email", "sms"},
			GroupTitle: func(group, language string) string {
				return map[string]string{"reminders de": "Erinnerungen"}[group+" "+language]
			}}))
		m.link = strings.Replace(m.link, "/unsubscribe/", "/preferences/", 1)
		test(m)
	})
}

// boxes are those of a page, with a + where they are checked.
func boxes(page string) (out []string) {
	for _, part := range strings.Split(page, `name="want" value="`)[1:] {
		value, rest, _ := strings.Cut(part, `"`)
		if strings.HasPrefix(rest, " checked") {
			value += "+"
		}
		out = append(out, value)
	}
	return out
}

func (m mailing) same(what string, want, got any) {
	m.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		m.Errorf("%s: %s", what, diff)
	}
}

func TestARecipientChoosesGroupsAndMethods(t *testing.T) {
	choosing(t, func(m mailing) {
		status, page, header := m.do("GET", m.link, "")
		m.same("status", 200, status)
		m.same("boxes", []string{"email:marketing+", "sms:marketing+", "email:reminders+", "sms:reminders+"}, boxes(page))
		if policy := header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") || header.Get("Referrer-Policy") != "no-referrer" {
			m.Error(header)
		}
		m.same("a GET", []string(nil), m.wishes())
		shown := "&shown=email:marketing&shown=sms:marketing&shown=email:reminders&shown=sms:reminders"
		_, page, _ = m.do("POST", m.link, "what=choose&want=sms:marketing&want=email:reminders&want=email:unknown"+shown)
		m.same("boxes", []string{"email:marketing", "sms:marketing+", "email:reminders+", "sms:reminders"}, boxes(page))
		if !strings.Contains(page, `role="status"`) {
			m.Error(page)
		}
		m.same("wishes", []string{"group marketing email", "group reminders sms"}, slices.Sorted(slices.Values(m.wishes())))
		m.do("POST", m.link, "what=choose&shown=sms:reminders&want=sms:reminders") // what was not on the page stays
		m.same("one of them", []string{"group marketing email"}, m.wishes())
		m.do("POST", m.link, "what=none"+shown)
		m.same("none", 4, len(m.wishes()))
	})
}

// The page shows what the recipient has chosen, and not what support has stopped: it would
// store the stop as a choice, which stayed when the stop ends.
func TestTheRecipientsPageLeavesAStopOfSupportAlone(t *testing.T) {
	choosing(t, func(m mailing) {
		by := notify.By{Actor: "kim", Reason: "a call"}
		for _, group := range []string{"", "marketing"} {
			if err := m.n.Contacts().Stop(m.Context(), "tenant", "sam", group, by); err != nil {
				m.Fatal(err)
			}
		}
		all := []string{"email:marketing+", "sms:marketing+", "email:reminders+", "sms:reminders+"}
		_, page, _ := m.do("GET", m.link, "")
		m.same("boxes", all, boxes(page))
		_, page, _ = m.do("POST", m.link, "what=choose&want=email:marketing&shown=email:marketing")
		m.same("boxes once saved", all, boxes(page))
		m.same("stops", []string{"group marketing ", " "}, m.wishes())
		for _, group := range []string{"", "marketing"} {
			if err := m.n.Contacts().Allow(m.Context(), "tenant", "sam", group, by); err != nil {
				m.Fatal(err)
			}
		}
		m.same("wishes", []string(nil), m.wishes())
	})
}

// It may stand in the place of the plain page, for mail programs too.
func TestOneClickLeavesTheGroupOnThePreferencePage(t *testing.T) {
	choosing(t, func(m mailing) {
		if status, _, _ := m.do("POST", m.link, "List-Unsubscribe=One-Click"); status != 200 {
			m.Error(status)
		}
		m.same("wishes", []string{"group marketing email"}, m.wishes())
	})
}

func TestThePreferencePageSpeaksSixLanguages(t *testing.T) {
	choosing(t, func(m mailing) {
		for lang, want := range map[string]string{
			"en": `lang="en" dir="ltr"`, "de": ">Erinnerungen<", "es": "Guardar", "fr": "Enregistrer", "vi": "Lưu lựa chọn", "ar": `lang="ar" dir="rtl"`, "xx": `lang="en"`,
		} {
			if _, page, _ := m.do("GET", m.link+"?lang="+lang, ""); !strings.Contains(page, want) {
				m.Errorf("%s: %s", lang, page)
			}
		}
		for accepted, want := range map[string]string{"": "en", "pt, de-AT;q=0.5, fr": "de", "AR-iq": "ar"} {
			req, err := http.NewRequestWithContext(m.Context(), "GET", m.link, nil)
			if err != nil {
				m.Fatal(err)
			}
			req.Header.Set("Accept-Language", accepted)
			resp, err := m.client.Do(req)
			if err != nil {
				m.Fatal(err)
			}
			_ = resp.Body.Close()
			m.same(accepted, want, resp.Header.Get("Content-Language"))
		}
	})
}

func TestAPreferenceLinkThatIsNoneHasOnePage(t *testing.T) {
	choosing(t, func(m mailing) {
		token := m.link[strings.LastIndexByte(m.link, '/')+1:]
		_, want, _ := m.do("GET", strings.Replace(m.link, token, "x", 1), "")
		if !strings.Contains(want, "This link is not valid") || strings.Contains(want, "<form") {
			m.Fatal(want)
		}
		for _, bad := range []string{"", token + "x", token[1:], strings.Repeat("0", 32) + token[32:], "%00.x", "<script>"} {
			for _, method := range []string{"GET", "POST"} {
				if status, page, _ := m.do(method, strings.Replace(m.link, token, bad, 1), "what=none&shown=email:marketing"); status != 404 || page != want {
					m.Errorf("%s %q: %d %s", method, bad, status, page)
				}
			}
		}
		for form, status := range map[string]int{"what=all": 400, "what=choose&x=" + strings.Repeat("x", 70<<10): 400} {
			if got, _, _ := m.do("POST", m.link, form); got != status {
				m.Errorf("%.40s: %d", form, got)
			}
		}
		if status, _, _ := m.do("PUT", m.link, "what=none"); status != 405 {
			m.Error(status)
		}
		m.same("wishes", []string(nil), m.wishes())
	})
}

func TestWithoutGroupsThereIsOneChoiceAMethod(t *testing.T) {
	mailings(t, func(m mailing) {
		m.mux.Handle("/preferences/", notifyhttp.Preferences(m.n, nil))
		link := strings.Replace(m.link, "/unsubscribe/", "/preferences/", 1)
		_, page, _ := m.do("GET", link, "")
		m.same("boxes", []string{"email:+"}, boxes(page))
		m.do("POST", link, "what=choose&shown=email:")
		m.same("wishes", []string{" email"}, m.wishes())
	})
}

func TestAPreferencePageNeedsItsNotifier(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("it works without")
		}
	}()
	notifyhttp.Preferences(nil, nil)
}
