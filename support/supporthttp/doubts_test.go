package supporthttp_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
)

// doubtsAt is the page of what is in doubt, to which home leads.
const doubtsAt = "/needs?domain=notify&kind=Doubt&reason=OutcomeUnknown&table=outgoing_message"

// hidden are the fields of a page that a form hands back unseen.
func hidden(page string) url.Values {
	form := url.Values{}
	for _, f := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		form[f[1]] = []string{strings.NewReplacer("&#43;", "+", "&amp;", "&").Replace(f[2])}
	}
	return form
}

// By the pages alone: home leads to the outages whose doubts wait, a form says how many there
// are and how earlier ones ended, and with a reason they are resolved, once and audited.
func TestTheDoubtsOfAnOutageAreResolvedByTheForm(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.site(everything)
	if _, body := o.ask(h, "GET", "/", ""); !strings.Contains(strings.ReplaceAll(body, "&amp;", "&"), `href="`+doubtsAt[1:]+`">Decide…`) {
		t.Error("home does not lead there: ", body)
	}
	_, list := o.ask(h, "GET", doubtsAt, "")
	section := regexp.MustCompile(`(?s)<section aria-labelledby="doubts">.*?</section>`).FindString(list)
	if !strings.Contains(section, "<b>1</b> of <bdi>email:test</bdi>, called from ") || strings.Contains(section, canary) {
		t.Fatal(list)
	}
	held := func(scope storage.Scope) int {
		rows, _, err := o.out.Support().Held(t.Context(), scope, reasons.OutcomeUnknown, storage.Page{})
		o.must(err)
		return len(rows)
	}
	form := hidden(section)
	form.Set("action", "Resolve Sent")
	answer, asks := o.ask(h, "POST", "/act", form.Encode())
	if answer.StatusCode != http.StatusOK || !strings.Contains(asks, "Note that all messages of unknown outcome by email:test arrived") || !strings.Contains(asks, "counts as sent: 1 of unknown outcome by email:test, called from") || !strings.Contains(asks, "the provider has reported on no earlier unknown outcome") {
		t.Error(answer.StatusCode, asks)
	}
	form = hidden(asks)
	answer, body := o.ask(h, "POST", "/act", form.Encode())
	if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "Say why.") || held("north") != 1 {
		t.Error("without a reason: ", answer.StatusCode, body)
	}
	form.Set("reason", "the log of 1 March")
	if answer, _ := o.ask(h, "POST", "/act", form.Encode(), "Sec-Fetch-Site", "cross-site"); answer.StatusCode != http.StatusForbidden || held("north") != 1 {
		t.Error("from another site: ", answer.StatusCode)
	}
	for range 2 { // the second has the first answer
		if _, body := o.ask(h, "POST", "/act", form.Encode()); !strings.Contains(body, "Done for 1 of 1") || held("north") != 0 || held("south") != 1 {
			t.Error(held("north"), held("south"), body)
		}
	}
	if _, body := o.ask(h, "GET", "/list?of=audit", ""); !strings.Contains(body, "by <bdi>kim</bdi>: <q><bdi>the log of 1 March</bdi></q>") {
		t.Error("the audit does not tell who did it, and why: ", body)
	}
	if _, body := o.ask(h, "GET", doubtsAt, ""); strings.Contains(body, "Decide for a whole outage") {
		t.Error(body)
	}
}

// Whoever may not resolve is shown no outage and resolves none, and of all tenants only those
// may who may act for all.
func TestAnOutageIsForThoseWhoMayResolve(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	_, list := o.ask(o.site(everything), "GET", doubtsAt, "")
	form := hidden(list)
	for name, c := range map[string]supporthttp.Caller{
		"reads":      {Actor: "kim", Scope: "north", Read: true, Personal: true},
		"may others": {Actor: "kim", Scope: "north", Read: true, Personal: true, Act: []support.Action{support.Release, support.Cancel}},
	} {
		if _, body := o.ask(o.site(c), "GET", doubtsAt, ""); strings.Contains(body, "Decide for a whole outage") {
			t.Errorf("%s: %s", name, body)
		}
		for _, decision := range []string{"Resolve Sent", "Resolve SendAgain"} {
			form.Set("action", decision)
			if answer, body := o.ask(o.site(c), "POST", "/act", form.Encode()); answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s: %s: %d %s", name, decision, answer.StatusCode, body)
			}
		}
	}
	one := supporthttp.Caller{Actor: "kim", Scope: "north", Read: true, Act: []support.Action{support.Resolve}}
	form.Set("action", "Resolve Sent")
	if answer, body := o.ask(o.site(one), "POST", "/act", form.Encode()); answer.StatusCode != http.StatusOK {
		t.Error("who may: ", answer.StatusCode, body)
	}
	form.Set("everywhere", "true")
	if answer, body := o.ask(o.site(one), "POST", "/act", form.Encode()); answer.StatusCode != http.StatusForbidden {
		t.Error("of all tenants: ", answer.StatusCode, body)
	}
	form.Del("everywhere")
	form.Del("hours-from")
	if answer, body := o.ask(o.site(one), "POST", "/act", form.Encode()); answer.StatusCode != http.StatusUnprocessableEntity {
		t.Error("without hours: ", answer.StatusCode, body)
	}
	hours := `{"action":"Resolve","decision":"SendAgain","dryRun":true,"reason":"r","targets":[{"part":{"domain":"notify","channel":"email:test","from":"2026-03-01T00:00:00Z","until":"2026-03-02T00:00:00Z"}}]}`
	if answer, body := o.ask(o.site(one), "POST", "/api/v1/act", hours); answer.StatusCode != http.StatusOK || !strings.Contains(body, `"sends":1`) || !strings.Contains(body, `"from":"2026-03-01T00:00:00Z"`) {
		t.Error("by the API: ", answer.StatusCode, body)
	}
}
