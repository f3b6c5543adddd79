package supporthttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
)

// Each action against each right, by a form and by the API: it takes the right to it, and
// what names or writes an address takes the right to personal data as well.
func TestAnActionIsForThoseWhoMayTakeIt(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	personal := []support.Action{support.SendTo, support.Erase}
	for _, a := range support.Actions() {
		for name, c := range map[string]supporthttp.Caller{
			"with both rights":      {Actor: "kim", Scope: "north", Read: true, Act: []support.Action{a}, Personal: true},
			"without personal data": {Actor: "kim", Scope: "north", Read: true, Act: []support.Action{a}},
			"without the action": {Actor: "kim", Scope: "north", Read: true, Personal: true,
				Act: slices.DeleteFunc(support.Actions(), func(other support.Action) bool { return other == a })},
		} {
			want := slices.Contains(c.Act, a) && (c.Personal || !slices.Contains(personal, a))
			h := o.site(c)
			form := url.Values{"action": {string(a)}, "target": {"Message " + o.message}, "to": {"zinnober@new.example"}}
			page, _ := o.ask(h, "POST", "/act", form.Encode())
			order, err := json.Marshal(map[string]any{"action": a, "to": form.Get("to"), "targets": []map[string]any{{"kind": "Message", "key": o.message}}, "reason": "r", "dryRun": true})
			o.must(err)
			api, _ := o.ask(h, "POST", "/api/v1/act", string(order))
			for by, got := range map[string]int{"a form": page.StatusCode, "the API": api.StatusCode} {
				if (got != http.StatusForbidden) != want {
					t.Errorf("%s %s, by %s: %d", a, name, by, got)
				}
			}
			for _, at := range []string{"/message?id=" + o.messageID, "/story?person=" + person, "/messages"} {
				_, body := o.ask(h, "GET", at, "")
				if !want && strings.Contains(body, fmt.Sprintf(`name="action" value="%s`, a)) {
					t.Errorf("%s %s: %s has a button of it", a, name, at)
				}
			}
		}
	}
}
