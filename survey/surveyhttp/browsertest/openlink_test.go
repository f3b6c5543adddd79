package browsertest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/belfry-go/belfry/survey"
)

// Where several answer at one tab, the next one sees nothing that the one before has typed: not in
// the form, not by the way back.
func TestTheNextOneAtAnOpenLinkSeesAFreshForm(t *testing.T) {
	t.Parallel()
	s := open(t, workshop, "en")
	definition := `{"title":"How was it?","questions":[{"id":"name","type":"text","required":true,"label":"Your name"}],"openLinks":[{"id":"poster","enabled":true}]}`
	if _, err := s.survey.Publish(t.Context(), survey.Version{SurveyID: 1, Name: "poster", Definition: json.RawMessage(definition)}); err != nil {
		t.Fatal(err)
	}
	link, err := s.survey.OpenLink(t.Context(), "", 1, "poster")
	if err != nil {
		t.Fatal(err)
	}
	url := s.url[:strings.LastIndex(s.url, "/")] + link[strings.LastIndex(link, "/"):]
	c := customer{t, browse(t, window{360, 900, true}), true}
	name := func() string { return eval[string](c.ctx, t, `document.getElementById("q1").value`) }
	do(c.ctx, t, chromedp.Navigate(url))
	c.look("open-1")
	c.write("q1", "Ann")
	do(c.ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(url))
	if got := name(); got != "" {
		t.Errorf("the next one sees %q", got)
	}
	c.write("q1", "Ben")
	c.submit()
	c.comes(`document.body.dataset.sent !== undefined`)
	c.back()
	c.comes(`document.getElementById("q1") !== null && document.getElementById("q1").value === ""`)
	if n := eval[int](c.ctx, t, "sessionStorage.length"); n != 0 {
		t.Errorf("%d drafts are kept", n)
	}
	if err := s.poller.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := <-s.heard; string(e.Answers) != `{"name":"Ben"}` || e.TriggerID != "poster" {
		t.Errorf("%+v", e)
	}
}
